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

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// propagation reports each cause with its remedy and an Event, and removes the condition with the cause.
// Conditions of other writers stay.
func TestStatus_reportsReasonAndRemovesIt(t *testing.T) {
	start(t)
	cases := map[string]struct {
		breakIt func(*argocd.Application)
		kind    string
		text    string
		mend    func(*argocd.Application, *place)
	}{
		"noCluster": {
			breakIt: func(a *argocd.Application) { delete(a.Annotations, contract.ClusterAnnotation) }, kind: policy.ErrorCondition, text: "annotation " + contract.ClusterAnnotation,
			mend: func(a *argocd.Application, p *place) { a.Annotations[contract.ClusterAnnotation] = p.cluster },
		},
		"noLabel": {
			breakIt: func(a *argocd.Application) { delete(a.Labels, contract.PullLabel) }, kind: policy.WarningCondition, text: "label " + contract.PullLabel,
			mend: func(a *argocd.Application, _ *place) { a.Labels = map[string]string{contract.PullLabel: "true"} },
		},
		"badNamespace": {
			breakIt: func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = "No!" }, kind: policy.ErrorCondition, text: "name of a namespace",
			mend: func(a *argocd.Application, _ *place) { delete(a.Annotations, contract.AppNamespaceAnnotation) },
		},
		"noSkip": {
			breakIt: func(a *argocd.Application) { delete(a.Annotations, argocd.SkipReconcileAnnotation) }, kind: policy.WarningCondition, text: argocd.SkipReconcileAnnotation,
			mend: func(a *argocd.Application, _ *place) { a.Annotations[argocd.SkipReconcileAnnotation] = "true" },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			app := p.deploy("guestbook", c.breakIt, func(a *argocd.Application) {
				a.Status = []byte(`{"conditions":[{"type":"SyncError","message":"of somebody else"}]}`)
			})
			awaitCondition(t, app, c.kind, c.text)
			awaitCondition(t, app, "SyncError", "of somebody else")
			testkit.Eventually(t, "the Event", func() error { return recorded(app, c.text) })
			edit(t, app, func(a *argocd.Application) { c.mend(a, p) })
			delivered(t, app, p.cluster)
			awaitCondition(t, app, c.kind, "")
			awaitCondition(t, app, "SyncError", "of somebody else")
		})
	}
}

func TestDelivery_waitsForTheCluster(t *testing.T) {
	start(t)
	p := newPlace(t)
	late := fmt.Sprintf("late-%d", serial.Add(1))
	p.bind(late)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = late })
	awaitCondition(t, app, policy.ErrorCondition, "there is no ManagedCluster")
	p.create(namespace(late))
	p.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: late}})
	delivered(t, app, late)
	awaitCondition(t, app, policy.ErrorCondition, "")
}

func TestLocalCluster_isNoTarget(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: p.cluster}}
	edit(t, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{contract.LocalClusterLabel: "true"} })
	awaitCondition(t, app, policy.ErrorCondition, "is the hub itself")
	withdrawn(t, app)
}

func TestTooLarge_keepsTheDelivery(t *testing.T) {
	start(t, func(o *Options) { o.SizeLimit = 2000 })
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"project"`, `"syncPolicy":{"automated":{"prune":true}},"project"`, 1))
	})
	work := delivered(t, app, p.cluster)
	edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/large"] = strings.Repeat("x", 2000) })
	awaitCondition(t, app, policy.ErrorCondition, "the limit is 1938")
	if again := delivered(t, app, p.cluster); again.UID != work.UID || again.Generation != work.Generation {
		t.Error("what was delivered before was touched")
	}
	pause(t, app, "sync")
	testkit.Eventually(t, "the automation to be out", func() error {
		if carries(t, app, `"automated":{"prune":true}`) == nil {
			return errors.New("it is still in")
		}
		return nil
	})
	pause(t, app, "") // the pause ends although the Application is too large
	awaitCondition(t, app, policy.ErrorCondition, "the limit is 1938")
	testkit.Eventually(t, "the automation to be back", func() error { return carries(t, app, `"automated":{"prune":true}`) })
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, "example.com/large") })
	awaitCondition(t, app, policy.ErrorCondition, "")
}

// The cache does not keep a spec that is too large. propagation does not replace the delivered spec by the
// rest.
func TestTooLarge_deliversNoPartOfASpec(t *testing.T) {
	start(t, func(o *Options) { o.SizeLimit = 3000 })
	p := newPlace(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	small := app.Spec
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), "main", strings.Repeat("x", 3000), 1))
	})
	awaitCondition(t, app, policy.ErrorCondition, "the limit is 2907")
	if again := delivered(t, app, p.cluster); again.UID != work.UID || again.Generation != work.Generation {
		t.Error("what was delivered before was touched")
	}
	edit(t, app, func(a *argocd.Application) { a.Spec = small })
	awaitCondition(t, app, policy.ErrorCondition, "")
}

func TestStatus_reportsARefusalOfTheAPIServer(t *testing.T) {
	start(t)
	p := newPlace(t)
	bare := fmt.Sprintf("bare-%d", serial.Add(1)) // a ManagedCluster without its namespace
	p.bind(bare)
	p.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: bare}})
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = bare })
	awaitCondition(t, app, policy.ErrorCondition, "the API server refused")
}

// If the API server refuses the deletion or another write of a ManifestWork for good, the Application reports the
// refusal, in addition to its other problem.
func TestStatus_reportsARefusalOfALaterWrite(t *testing.T) {
	denied := func(o client.Object) error {
		return apierrors.NewForbidden(workv1.Resource("manifestworks"), o.GetName(), errors.New("a webhook denied it"))
	}
	argo := newPlace(t)
	startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
				return denied(o)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if data, err := patch.Data(o); err != nil || strings.Contains(string(data), `"path":"/spec"`) {
					return errors.Join(err, denied(o))
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		})
	}, func(o *Options) { o.ArgoCDNamespace, o.SizeLimit = argo.namespace, 3000 })
	t.Run("deletion", func(t *testing.T) {
		p := newPlace(t)
		app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
		work := delivered(t, app, p.cluster)
		remove(t, app)
		refusal := "the API server refused to delete ManifestWork " + p.cluster + "/" + work.Name
		awaitCondition(t, app, policy.WarningCondition, refusal)
		testkit.Eventually(t, "the Event", func() error { return recorded(app, refusal) })
	})
	t.Run("AppProject", func(t *testing.T) {
		p := newPlace(t)
		project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "wide"}, Spec: sourceSpec("*")}
		p.create(project)
		app := p.deploy("guestbook", projectIs("wide"))
		work := delivered(t, app, p.cluster)
		edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/large"] = strings.Repeat("x", 3000) })
		awaitCondition(t, app, policy.ErrorCondition, "the limit is 2907")
		edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("*", "other") })
		awaitCondition(t, app, policy.ErrorCondition, "the API server refused to patch ManifestWork "+p.cluster+"/"+work.Name)
		awaitCondition(t, app, policy.ErrorCondition, "the limit is 2907")
	})
}

func recorded(app *argocd.Application, text string) error {
	var events eventsv1.EventList
	if err := hub.client.List(context.Background(), &events, client.InNamespace(app.Namespace)); err != nil {
		return err
	}
	for i := range events.Items {
		if e := &events.Items[i]; e.Regarding.Name == app.Name && e.Regarding.Kind == argocd.ApplicationKind && strings.Contains(e.Note, text) {
			return nil
		}
	}
	return fmt.Errorf("none of %d Events says %q", len(events.Items), text)
}

// Annotations of the hub's notifications controller write no ManifestWork. The next delivered change is one
// write.
func TestNotifications_writeNoManifestWork(t *testing.T) {
	p := newPlace(t)
	program := start(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	for i := range 100 {
		edit(t, app, func(a *argocd.Application) {
			a.Annotations["notified.notifications.argoproj.io"] = fmt.Sprintf(`{"on-deployed:[0].y7b5sbwa2Q329JYH755peeq-fBs:slack:shop":%d}`, i)
			a.Annotations["notifications.argoproj.io/subscribe.on-deployed.slack"] = fmt.Sprint("shop", i)
		})
	}
	edit(t, app, func(a *argocd.Application) { a.Labels["team"] = "a" })
	testkit.Eventually(t, "the label to be delivered", func() error {
		w := works(t, app)
		if len(w) != 1 || w[0].UID != work.UID {
			t.Fatalf("there are %d works, or another one", len(w))
		}
		last := w[0].Spec.Workload.Manifests[len(w[0].Spec.Workload.Manifests)-1].Raw
		if !strings.Contains(string(last), `"team":"a"`) {
			return errors.New("it is not")
		}
		if strings.Contains(string(last), "notif") {
			t.Errorf("delivered is %s", last)
		}
		if sent := program.requests.doneIn(p.cluster); len(sent) < 2 { // the answer may arrive later
			return fmt.Errorf("%d writes were answered", len(sent))
		}
		return nil
	})
	program.stop()
	if sent := program.requests.doneIn(p.cluster); len(sent) != 2 {
		t.Errorf("%d writes of the ManifestWork, want one that makes it and that of the label: %q", len(sent), sent)
	}
}
