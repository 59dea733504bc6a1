// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// remade deletes an Application and creates it again with another UID, as a restore from a backup does.
func remade(t *testing.T, p *place, app *argocd.Application, change ...func(*argocd.Application)) *argocd.Application {
	t.Helper()
	remove(t, app)
	var again *argocd.Application
	testkit.Eventually(t, "the name to be free", func() error {
		again = p.app(app.Name, change...)
		return hub.client.Create(context.Background(), again)
	})
	return again
}

// adopted waits until the existing work carries the Application's UID.
func adopted(t *testing.T, app *argocd.Application, work *workv1.ManifestWork) {
	t.Helper()
	testkit.Eventually(t, "the adoption of "+work.Name, func() error {
		own := works(t, app)
		switch {
		case len(own) != 1:
			return fmt.Errorf("there are %d works", len(own))
		case own[0].UID != work.UID || own[0].Name != work.Name || own[0].DeletionTimestamp != nil:
			t.Fatalf("the running work was replaced or deleted: %s", own[0].Name)
		case own[0].Annotations[contract.HubUIDAnnotation] != string(app.UID):
			return errors.New("it is not bound to the new UID yet")
		}
		return nil
	})
}

// An Application that is re-created with another UID adopts its existing work, whether propagation was
// running or not. A restart after that writes nothing.
func TestAdoption_keepsTheWorkOfARecreatedApplication(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	app := p.deploy("restored")
	work := delivered(t, app, p.cluster)
	first.stop()
	app = remade(t, p, app)
	second := start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	adopted(t, app, work)
	app = remade(t, p, app) // re-created with propagation running
	adopted(t, app, work)
	if after := delivered(t, app, p.cluster); after.Generation != work.Generation {
		t.Errorf("the adoption changed the spec: generation %d, was %d", after.Generation, work.Generation)
	}
	edit(t, app, func(a *argocd.Application) {
		a.Spec = []byte(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"edited"`, 1))
	})
	testkit.Eventually(t, "the edit in the adopted work", func() error { return carries(t, app, `"path":"edited"`) })
	second.stop()

	third := start(t)
	awaitCondition(t, p.deploy("other", func(a *argocd.Application) { delete(a.Annotations, argocd.SkipReconcileAnnotation) }), policy.WarningCondition, "skip-reconcile")
	for _, request := range third.requests.in(p.cluster, p.namespace) {
		if strings.Contains(request, "restored") {
			t.Errorf("a restart over a settled adoption sent %s", request)
		}
	}
	remove(t, app)
	withdrawn(t, app)
}

// An adopted work belongs to the Application. A move to another cluster removes it, and the deletion of the
// Application waits for it.
func TestAdoption_makesTheDeletionWaitForTheWork(t *testing.T) {
	p := newPlace(t)
	other := newCluster(t)
	p.bind(p.cluster, other)
	first := start(t)
	app := p.deploy("moved")
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	first.stop()
	app = remade(t, p, app, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	start(t)
	adopted(t, app, work)
	applying(t, p.cluster)
	applying(t, other)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	testkit.Eventually(t, "the adopted work to be withdrawn", func() error {
		for _, w := range works(t, app) {
			if w.Namespace == p.cluster && w.DeletionTimestamp == nil {
				return errors.New("not yet")
			}
		}
		return nil
	})
	remove(t, app)
	awaitCondition(t, app, policy.WarningCondition, work.Name)
	pruned(t, work)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
	withdrawn(t, app)
}

// While the earlier work is being removed, propagation creates no other work.
func TestAdoption_waitsForATerminatingWork(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	app := p.deploy("again")
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	applying(t, p.cluster)
	remove(t, app)
	testkit.Eventually(t, "the withdrawal", func() error {
		if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp == nil {
			return errors.New("it is still alive")
		}
		return nil
	})
	app = p.deploy("again")
	awaitCondition(t, app, policy.ErrorCondition, "has not finished removing")
	first.stop()
	start(t)
	awaitCondition(t, app, policy.ErrorCondition, "has not finished removing")
	if own := works(t, app); len(own) != 1 {
		t.Fatalf("there are %d works", len(own))
	}
	pruned(t, work)
	testkit.Eventually(t, "the new work", func() error {
		if own := works(t, app); len(own) != 1 || own[0].UID == work.UID {
			return errors.New("not there")
		}
		return nil
	})
	awaitCondition(t, app, policy.ErrorCondition, "")
}

// Of two works on the target cluster, propagation deletes the older one. It waits until the current
// generation of the newer one is applied.
func TestAdoption_removesTheOlderOfTwoWorks(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	app := p.deploy("twice")
	work := delivered(t, app, p.cluster)
	finalized(t, work) // propagation deletes a work without the agent's finalizer at once
	first.stop()
	nextSecond(t, work.CreationTimestamp)
	second := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.cluster, Name: "twice-99999", Labels: work.Labels, Annotations: work.Annotations},
		Spec:       work.Spec,
	}
	p.create(second)
	start(t)
	testkit.Eventually(t, "the younger to be bound", func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(second), second); err != nil {
			return err
		}
		if second.Annotations[contract.HubUIDAnnotation] != string(app.UID) {
			return errors.New("not yet")
		}
		return nil
	})
	apply := func(generation int64) {
		t.Helper()
		meta.SetStatusCondition(&second.Status.Conditions, metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", ObservedGeneration: generation})
		if err := hub.client.Status().Update(context.Background(), second); err != nil {
			t.Fatal(err)
		}
	}
	apply(second.Generation - 1)
	edit(t, app, func(a *argocd.Application) { a.Labels["wake"] = "up" })
	testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"wake":"up"`) })
	if own := works(t, app); len(own) != 2 {
		t.Fatal("the older went before the newer was applied")
	}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(second), second); err != nil {
		t.Fatal(err)
	}
	apply(second.Generation)
	testkit.Eventually(t, "the older to be deleted", func() error {
		if live := stored(t, work); live == nil || live.DeletionTimestamp == nil {
			return errors.New("not yet")
		}
		return nil
	})
	pruned(t, work)
	testkit.Eventually(t, "the older to go", func() error {
		if own := works(t, app); len(own) != 1 || own[0].UID != second.UID {
			return fmt.Errorf("there are %d", len(own))
		}
		return nil
	})
}

// An Application that is re-created after a move within its cluster adopts the work of the new namespace.
func TestAdoption_keepsTheWorkOfAMoveWithinTheCluster(t *testing.T) {
	p := newPlace(t)
	free := anywhere(t, "elsewhere")
	applying(t, p.cluster)
	first := start(t, free)
	app := p.deploy("moved")
	former := delivered(t, app, p.cluster)
	edit(t, app, into("elsewhere"))
	var work *workv1.ManifestWork
	testkit.Eventually(t, "the work of the other namespace", func() error {
		if work = delivered(t, app, p.cluster); work.UID == former.UID {
			return errors.New("not yet")
		}
		return nil
	})
	first.stop()
	app = remade(t, p, app, into("elsewhere"))
	start(t, free)
	adopted(t, app, work)
}

// An Application that is re-created within the grace period keeps its work. Otherwise propagation deletes the
// work.
func TestAdoption_endsWithTheGracePeriod(t *testing.T) {
	first := start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	p := newPlace(t)
	app := p.deploy("again")
	work := delivered(t, app, p.cluster)
	app = remade(t, p, app)
	adopted(t, app, work)
	first.stop()
	start(t, func(o *Options) { o.RecreateGrace = time.Second })
	remove(t, app)
	withdrawn(t, app)
}

func newNamespace(t *testing.T, p *place) *place {
	t.Helper()
	q := &place{t: t, namespace: fmt.Sprintf("team-%d", serial.Add(1)), cluster: p.cluster}
	q.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: q.namespace}})
	q.bind(q.cluster)
	return q
}

// anywhere allows Applications of all namespaces to use the target namespaces.
func anywhere(t *testing.T, targets ...string) func(*Options) {
	t.Helper()
	p := &place{t: t, namespace: fmt.Sprintf("argo-%d", serial.Add(1))}
	p.create(namespace(p.namespace))
	p.create(&argocd.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: argocd.DefaultProject},
		Spec:       []byte(`{"sourceNamespaces":["*"],"destinations":[{"namespace":"*","server":"*"}],"sourceRepos":["*"]}`),
	})
	return func(o *Options) {
		o.ArgoCDNamespace = p.namespace
		for _, target := range targets {
			o.AppNamespaces = append(o.AppNamespaces, policy.AppNamespace{Hub: "*", Target: target})
		}
	}
}

// runAgent runs OCM's work agent for a cluster until the test ends. One API server is the hub and the managed
// cluster.
func runAgent(t *testing.T, cluster string) {
	t.Helper()
	bin := filepath.Join(testkit.Root(), "bin")
	if _, err := envtest.InstallCRDs(hub.config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(bin, "crds", "ocm-managed")}, MaxTime: time.Minute}); err != nil {
		t.Fatalf("install the work agent's CRDs: %v", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: hub.config.Host, CertificateAuthorityData: hub.config.CAData}
	config.AuthInfos["agent"] = &clientcmdapi.AuthInfo{ClientCertificateData: hub.config.CertData, ClientKeyData: hub.config.KeyData, Token: hub.config.BearerToken}
	config.Contexts["agent"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "agent"}
	config.CurrentContext = "agent"
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatalf("write kubeconfig: %v", err)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	agent := testkit.Command(context.Background(), filepath.Join(bin, "ocm"), "work", "agent", "--kubeconfig="+kubeconfig, "--namespace=default",
		"--spoke-cluster-name="+cluster, "--agent-id="+cluster, "--workload-source-driver=kube", "--workload-source-config="+kubeconfig,
		"--status-sync-interval=5s", "--disable-leader-election", "--listen="+freeAddress(t))
	agent.Dir, agent.Stdout, agent.Stderr = folder, log, log
	if err := agent.Start(); err != nil {
		t.Fatalf("start the work agent: %v", err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
		_ = log.Close()
		if raw, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the end of the agent's log:\n%s", raw[max(0, len(raw)-4000):])
		}
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// deletions collects the names of the Applications in a namespace that are deleted or terminating.
type deletions struct {
	mu    sync.Mutex
	names []string
}

func watchDeletions(t *testing.T, namespace string) *deletions {
	t.Helper()
	c, err := client.NewWithWatch(hub.config, client.Options{Scheme: hub.scheme})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(context.Background(), &argocd.ApplicationList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	d := &deletions{}
	go func() {
		for event := range w.ResultChan() {
			app, ok := event.Object.(*argocd.Application)
			if ok && (event.Type == watch.Deleted || app.DeletionTimestamp != nil) {
				d.mu.Lock()
				d.names = append(d.names, app.Name)
				d.mu.Unlock()
			}
		}
	}()
	return d
}

func (d *deletions) seen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names
}

// The test re-creates hub Applications repeatedly under the real work agent, with propagation running and
// stopped. The Applications on the managed cluster are never deleted.
func TestAdoption_deletesNothingUnderTheWorkAgent(t *testing.T) {
	const count, rounds = 4, 6
	p := newPlace(t)
	existing := p.namespace + "-managed"
	p.create(namespace(existing))
	runAgent(t, p.cluster)
	grace := func(o *Options) { o.RecreateGrace = time.Minute }
	free := anywhere(t, existing)
	running := start(t, grace, free)
	apps := make([]*argocd.Application, count)
	uids := map[string]types.UID{}
	copyOf := func(name string) (*argocd.Application, error) {
		a := &argocd.Application{}
		return a, hub.client.Get(context.Background(), client.ObjectKey{Namespace: existing, Name: name}, a)
	}
	for i := range apps {
		apps[i] = p.deploy(fmt.Sprint("again-", i), into(existing))
	}
	for _, app := range apps {
		testkit.Eventually(t, app.Name+" to be applied", func() error {
			a, err := copyOf(app.Name)
			if err != nil || len(a.OwnerReferences) == 0 {
				return errors.Join(errors.New("it is not applied"), err)
			}
			uids[app.Name] = a.UID
			return nil
		})
	}
	deleted := watchDeletions(t, existing)
	for round := range rounds {
		down := round%2 == 1
		if down {
			running.stop()
		}
		for i := range apps {
			apps[i] = remade(t, p, apps[i], into(existing))
		}
		if down {
			running = start(t, grace, free)
		}
		for _, app := range apps {
			testkit.Eventually(t, "the adoption of "+app.Name, func() error {
				own := works(t, app)
				if len(own) != 1 || own[0].Annotations[contract.HubUIDAnnotation] != string(app.UID) {
					return fmt.Errorf("there are %d works", len(own))
				}
				return nil
			})
		}
	}
	for _, app := range apps {
		edit(t, app, func(a *argocd.Application) {
			a.Spec = []byte(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"edited"`, 1))
		})
		testkit.Eventually(t, "the edit of "+app.Name+" on the managed cluster", func() error {
			a, err := copyOf(app.Name)
			if err != nil {
				return err
			}
			if a.UID != uids[app.Name] {
				t.Fatalf("%s is another object", app.Name)
			}
			if !strings.Contains(string(a.Spec), `"path":"edited"`) {
				return errors.New("not there")
			}
			return nil
		})
	}
	if names := deleted.seen(); len(names) > 0 {
		t.Errorf("on the managed cluster were deleted: %v", names)
	}
}
