// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// argoCD creates a namespace for the hub's Argo CD.
func argoCD(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, namespace: fmt.Sprintf("argo-%d", serial.Add(1))}
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
	return p
}

func projectIs(name string) func(*argocd.Application) {
	return func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"project":"default"`, `"project":"`+name+`"`, 1))
	}
}

func sourceSpec(namespaces ...string) json.RawMessage {
	raw, _ := json.Marshal(namespaces) // strings always encode
	return json.RawMessage(`{"destinations":[{"namespace":"*","server":"*"}],"sourceRepos":["*"],"sourceNamespaces":` + string(raw) + `}`)
}

// An Application outside the Argo CD namespace may use an AppProject only while the AppProject admits its
// namespace. propagation checks that on creation, on update and after a restart.
func TestProject_isUsedOnlyIfItAdmitsTheNamespace(t *testing.T) {
	p, argo := newPlace(t), argoCD(t)
	settings := func(o *Options) { o.ArgoCDNamespace = argo.namespace }
	first := start(t, settings)
	for _, name := range []string{"platform", argocd.DefaultProject} {
		t.Run(name, func(t *testing.T) {
			project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: name}, Spec: sourceSpec("argocd-admins")}
			argo.create(project)
			app := p.deploy("of-"+name, projectIs(name))
			awaitCondition(t, app, policy.ErrorCondition, `spec.sourceNamespaces of AppProject "`+name+`"`)
			if own := works(t, app); len(own) > 0 {
				t.Fatal("it is delivered with a project that its namespace may not use")
			}
			edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("team-*") })
			work := delivered(t, app, p.cluster)
			if got := strings.Contains(string(work.Spec.Workload.Manifests[1].Raw), `"kind":"AppProject"`); got != (name != argocd.DefaultProject) {
				t.Errorf("the project travels: %t", got)
			}
			awaitCondition(t, app, policy.ErrorCondition, "")
			edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("/^other-/") })
			withdrawn(t, app)
			awaitCondition(t, app, policy.ErrorCondition, "spec.sourceNamespaces")
			edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("/^team-[0-9]+$/") })
			delivered(t, app, p.cluster)
		})
	}
	moved := p.deploy("moved")
	delivered(t, moved, p.cluster)
	edit(t, moved, func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = argo.namespace })
	awaitCondition(t, moved, policy.ErrorCondition, "--allowed-app-namespaces")
	awaitCondition(t, moved, policy.ErrorCondition, "keeps what was delivered before")
	first.stop()
	second := start(t, settings)
	delivered(t, p.deploy("last"), p.cluster)
	if got := second.requests.in(p.namespace, p.cluster); len(got) != 1 {
		t.Errorf("the restart made %d write requests, want the one for the new Application: %v", len(got), got)
	}
	second.stop()
	start(t, settings, func(o *Options) {
		if err := o.AppNamespaces.Set("team-*=" + argo.namespace); err != nil {
			t.Fatal(err)
		}
	})
	testkit.Eventually(t, "the delivery to the namespace that is allowed now", func() error {
		if own := works(t, moved); len(own) != 1 || !strings.Contains(string(own[0].Spec.Workload.Manifests[1].Raw), `"namespace":"`+argo.namespace+`"`) {
			return fmt.Errorf("there are %d works, conditions %v", len(own), storedConditions(t, moved))
		}
		return nil
	})
}

// Before propagation removes a delivery because of an AppProject, it reads the AppProject from the API
// server.
func TestProject_isReadFromTheAPIServer(t *testing.T) {
	p, argo := newPlace(t), argoCD(t)
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "platform"}, Spec: sourceSpec("team-*")}
	argo.create(project)
	reads := make(chan struct{}, 100)
	running := startReading(t, func(live client.Client) client.Client { return countProjects{live, reads} }, func(o *Options) { o.ArgoCDNamespace = argo.namespace })
	app := p.deploy("guestbook", projectIs("platform"))
	delivered(t, app, p.cluster)
	edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec() })
	withdrawn(t, app)
	if len(reads) == 0 {
		t.Error("it was withdrawn for what only the cache said")
	}
	running.stop()
}

// countProjects counts live reads of AppProjects.
type countProjects struct {
	client.Client
	reads chan struct{}
}

func (c countProjects) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*argocd.AppProject); ok {
		select {
		case c.reads <- struct{}{}:
		default:
		}
	}
	return c.Client.Get(ctx, key, o, opts...)
}

// propagation does not deliver a user's values for the annotations that propagation sets: the hub
// Application, its ApplicationSet, and the request.
func TestDelivery_excludesReservedAnnotations(t *testing.T) {
	start(t)
	p := newPlace(t)
	marks := map[string]string{
		contract.HostingAnnotation: "argocd/production", contract.ApplicationSetLabel: "true", contract.ApplicationSetHashLabel: "0123",
		contract.RequestAnnotation: "operation-1", contract.HubNamespaceAnnotation: "other", contract.HubNameAnnotation: "other",
		contract.ChangeGenerationAnnotation: "7", contract.StoredSpecAnnotation: "a/b",
	}
	mark := func(a *argocd.Application) {
		for key, value := range marks {
			a.Annotations[key] = value
			if !strings.Contains(value, "/") {
				a.Labels[key] = value
			}
		}
		a.Labels["example.com/own"] = "mine"
	}
	clean := func(app *argocd.Application) error {
		for _, work := range works(t, app) {
			delivered := decode[argocd.Application](t, work.Spec.Workload.Manifests[len(work.Spec.Workload.Manifests)-1].Raw)
			for key := range marks {
				_, annotated := delivered.Annotations[key]
				if _, labelled := delivered.Labels[key]; annotated || labelled {
					t.Errorf("%s was delivered", key)
				}
			}
			if work.Annotations[contract.HostingAnnotation] != "" || work.Labels[contract.ApplicationSetLabel] != "" || work.Annotations[contract.HubNameAnnotation] != app.Name {
				t.Errorf("the work has %v %v", work.Annotations, work.Labels)
			}
			if delivered.Labels["example.com/own"] == "mine" {
				return nil
			}
		}
		return errors.New("the user's own label is not there")
	}
	created, edited := p.deploy("created", mark), p.deploy("edited")
	delivered(t, edited, p.cluster)
	edit(t, edited, mark)
	for _, app := range []*argocd.Application{created, edited} {
		testkit.Eventually(t, "the labels of "+app.Name, func() error { return clean(app) })
	}
}

// propagation does not deliver a finalizer that no controller of a managed cluster removes, on creation or
// update.
func TestDelivery_excludesForeignFinalizers(t *testing.T) {
	start(t)
	p := newPlace(t)
	finalizers := func(a *argocd.Application) {
		a.Finalizers = []string{"hub.example.com/guard", argocd.BackgroundFinalizer, argocd.ResourcesFinalizer + "/unknown", argocd.PostDeleteFinalizer, argocd.PostDeleteCleanupFinalizer}
	}
	created, edited := p.deploy("created", finalizers), p.deploy("edited")
	delivered(t, edited, p.cluster)
	edit(t, edited, finalizers)
	want := `"finalizers":["` + argocd.BackgroundFinalizer + `","` + argocd.PostDeleteFinalizer + `","` + argocd.PostDeleteCleanupFinalizer + `"]`
	for _, app := range []*argocd.Application{created, edited} {
		testkit.Eventually(t, "the finalizers of "+app.Name, func() error { return carries(t, app, want) })
		edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
		testkit.Eventually(t, "no finalizers", func() error {
			if carries(t, app, "finalizers") == nil {
				return errors.New("they are still there")
			}
			return nil
		})
	}
}

// An agent may change the works in its own namespace, and name another tenant's Application there. Such
// a change neither delays the deletion of that Application nor deletes a work. propagation corrects the
// change.
func TestHostileAgent_affectsNoOtherTenant(t *testing.T) {
	running := start(t)
	victim, evil := newPlace(t), newPlace(t)
	app := victim.deploy("payments", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	delivered(t, app, victim.cluster)
	theirs := evil.deploy("theirs")
	work := delivered(t, theirs, evil.cluster)
	spoof := func(w *workv1.ManifestWork) {
		w.Finalizers = []string{workv1.ManifestWorkFinalizer}
		w.Annotations[contract.HubNamespaceAnnotation], w.Annotations[contract.HubNameAnnotation] = app.Namespace, app.Name
	}
	absent := func(w *workv1.ManifestWork) { w.Annotations[contract.HubNameAnnotation] = "nobody" }
	for i := range 10 {
		edit(t, work, []func(*workv1.ManifestWork){spoof, absent}[i%2])
		testkit.Eventually(t, "the repair", func() error {
			own := works(t, theirs)
			if len(own) != 1 {
				return errors.New("it still names the other one")
			}
			if own[0].UID != work.UID || own[0].DeletionTimestamp != nil {
				t.Fatal("the work was deleted")
			}
			return nil
		})
	}
	for _, request := range running.requests.in(evil.cluster, victim.cluster) {
		if strings.HasPrefix(request, "DELETE") {
			t.Errorf("propagation sent %s", request)
		}
	}

	// A changed work of a deleted Application is not corrected, and does not delay another Application.
	running.stop()
	remove(t, theirs)
	edit(t, work, spoof)
	start(t)
	remove(t, app)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
	applying(t, evil.cluster)
	testkit.Eventually(t, "the leftover to be withdrawn", func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		if work.DeletionTimestamp == nil {
			return errors.New("it is alive")
		}
		return nil
	})
	pruned(t, work)
}

// A hostile agent cannot make propagation release an Application of the hub's own Argo CD.
func TestHostileAgent_releasesNoApplication(t *testing.T) {
	first := start(t)
	evil := newPlace(t)
	hubs := evil.deploy("hubs-own", func(a *argocd.Application) {
		a.Labels, a.Annotations, a.Finalizers = nil, nil, []string{argocd.ResourcesFinalizer}
	})
	theirs := evil.deploy("theirs")
	work := delivered(t, theirs, evil.cluster)
	first.stop()
	remove(t, theirs)
	remove(t, hubs)
	edit(t, work, func(w *workv1.ManifestWork) { w.Annotations[contract.HubNameAnnotation] = hubs.Name })
	start(t)
	delivered(t, evil.deploy("other"), evil.cluster) // by then it was reconciled
	if err := gone(hubs); err == nil {
		t.Error("an Application that is not pulled was released")
	}
	edit(t, hubs, func(a *argocd.Application) { a.Finalizers = nil })
}

// While an invalid annotation keeps a work unchanged, its agent adds another tenant's AppProject to the work, and
// spoils the one that the work delivers. The agent receives the one that the work delivers, and no other.
func TestHostileAgent_receivesNoOtherProject(t *testing.T) {
	var argo string
	start(t, anywhere(t), func(o *Options) { argo = o.ArgoCDNamespace })
	p := newPlace(t)
	for _, name := range []string{"team", "others"} {
		project := project(name, "*", "secret-of-"+name)
		project.Namespace = argo
		p.create(project)
	}
	app := p.deploy("guestbook", projectIs("team"))
	work := delivered(t, app, p.cluster)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ManagementPolicyAnnotation] = "x" })
	awaitCondition(t, app, policy.ErrorCondition, contract.ManagementPolicyAnnotation)
	const others = `{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"name":"others","namespace":"argocd"}}`
	edit(t, work, func(w *workv1.ManifestWork) {
		manifests := []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(others)}}}
		for _, m := range w.Spec.Workload.Manifests {
			m.Raw = []byte(strings.ReplaceAll(string(m.Raw), "secret-of-team", "spoiled"))
			manifests = append(manifests, m)
		}
		w.Spec.Workload.Manifests = manifests
	})
	testkit.Eventually(t, "the repair of the AppProject", func() error {
		if err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		if content := fmt.Sprintf("%s", work.Spec.Workload.Manifests); !strings.Contains(content, "secret-of-team") {
			return errors.New(content)
		}
		return nil
	})
	if got := string(work.Spec.Workload.Manifests[0].Raw); got != others {
		t.Errorf("the agent has received %s", got)
	}
}

func windowsSpec(windows string) json.RawMessage {
	return json.RawMessage(`{"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}],"syncWindows":` + windows + `}`)
}

// propagation does not deliver the sync windows of the default project. An Application that one of them
// selects has a warning, in the Argo CD namespace and outside it. Other Applications have none.
func TestWindows_warnAboutTheDefaultProject(t *testing.T) {
	argo, team := newPlace(t), newPlace(t)
	start(t, func(o *Options) { o.ArgoCDNamespace = argo.namespace })
	local, remote := argo.deploy("here"), team.deploy("there")
	for app, cluster := range map[*argocd.Application]string{local: argo.cluster, remote: team.cluster} {
		delivered(t, app, cluster)
	}
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: argocd.DefaultProject}, Spec: windowsSpec(`[{"kind":"deny","clusters":["` + argo.cluster + `","` + team.cluster + `"]}]`)}
	argo.create(project)
	awaitCondition(t, local, policy.WarningCondition, "sync windows")
	awaitCondition(t, remote, policy.WarningCondition, "choose another project")
	edit(t, project, func(p *argocd.AppProject) {
		p.Spec = windowsSpec(`[{"kind":"deny","clusters":["` + team.cluster + `"]}]`)
	})
	awaitCondition(t, local, policy.WarningCondition, "")
	awaitCondition(t, remote, policy.WarningCondition, "sync windows")
	edit(t, project, func(p *argocd.AppProject) { p.Spec = windowsSpec(`[]`) })
	awaitCondition(t, remote, policy.WarningCondition, "")
}

// In a delivered AppProject, the sync windows of the cluster also name it as its own Argo CD does. The
// delivered AppProject follows the hub's AppProject.
func TestWindows_areDelivered(t *testing.T) {
	argo := newPlace(t)
	start(t, func(o *Options) { o.ArgoCDNamespace = argo.namespace })
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "windowed"}, Spec: windowsSpec(`[{"kind":"deny","clusters":["` + argo.cluster + `"]}]`)}
	argo.create(project)
	app := argo.deploy("windowed", projectIs("windowed"))
	has := func(want string) {
		t.Helper()
		testkit.Eventually(t, "the windows "+want, func() error {
			for _, w := range works(t, app) {
				for _, m := range w.Spec.Workload.Manifests {
					if strings.Contains(string(m.Raw), `"syncWindows":`+want) {
						return nil
					}
				}
			}
			return fmt.Errorf("the works are %d", len(works(t, app)))
		})
	}
	has(`[{"clusters":["` + argo.cluster + `","in-cluster","https://kubernetes.default.svc"],"kind":"deny"}]`)
	edit(t, project, func(p *argocd.AppProject) {
		p.Spec = windowsSpec(`[{"kind":"deny","clusters":["elsewhere"]},{"applications":["*"],"kind":"allow"}]`)
	})
	has(`[{"clusters":["elsewhere"],"kind":"deny"},{"applications":["*"],"kind":"allow"}]`)
	if m := storedConditions(t, app); len(m) > 0 {
		t.Errorf("its windows are delivered, and it says %v", m)
	}
}
