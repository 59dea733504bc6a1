// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-logr/logr"
	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/observe"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	cluster  = "cluster1"
	observer = "multicluster-integrations-observer"
	tree     = `{"nodes":[{"kind":"ConfigMap","name":"c","namespace":"n","uid":"u"}]}`
)

// hub is the API server of hub and cluster.
var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(clientgoscheme.AddToScheme(hub.scheme), clusterv1.Install(hub.scheme), workv1.Install(hub.scheme)); err != nil {
			return err
		}
		if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
			return err
		}
		for _, name := range []string{cluster, "cluster2", observer, "argocd", "multicluster-integrations"} {
			if err := hub.client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				return err
			}
		}
		for _, file := range []string{"components/liveview/liveview.yaml", "components/liveview/bindings.yaml", "components/liveview/policy.yaml"} {
			if err := apply(filepath.Join(testkit.Root(), "deploy", file)); err != nil {
				return err
			}
		}
		return hub.client.Create(context.Background(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}})
	})
}

// fixture is a viewer with the rights of deploy/components/liveview, an observer, a Redis on
// both sides, and an agent.
type fixture struct {
	hub, managed *miniredis.Miniredis
	app          *unstructured.Unstructured
	restart      func()
}

// newFixture has an Application delivered, of which the cluster's Redis has a tree.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{hub: miniredis.RunT(t), managed: miniredis.RunT(t)}
	f.app = newApplication("", "guestbook")
	must(t, hub.client.Create(t.Context(), f.app))
	must(t, hub.client.Create(t.Context(), deliveryOf(f.app, cluster)))
	set(t, f.managed, "guestbook", tree)
	stopObserver := run(t, hub.config, observe.Caches(observer), func(mgr ctrl.Manager) error {
		r, err := argoredis.New(argoredis.Options{Address: f.managed.Addr(), Compression: "gzip"}, mgr.GetAPIReader())
		if err != nil {
			return err
		}
		return observe.Setup(mgr, r, "argocd")
	})
	ctx, stopAgent := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); agent(ctx) }()
	stopViewer := f.startViewer(t)
	f.restart = func() { stopViewer(); stopViewer = f.startViewer(t) }
	t.Cleanup(func() {
		stopViewer()
		works := &workv1.ManifestWorkList{}
		must(t, hub.client.List(ctx, works))
		for i := range works.Items {
			must(t, client.IgnoreNotFound(hub.client.Delete(ctx, &works.Items[i])))
		}
		must(t, client.IgnoreNotFound(hub.client.Delete(ctx, f.app)))
		testkit.Eventually(t, "the ConfigMaps to go", func() error {
			return none(&corev1.ConfigMapList{}, client.InNamespace(observer), client.HasLabels{request.Label})
		})
		stopAgent()
		<-ended
		stopObserver()
	})
	return f
}

// viewerConfig is that of the viewer's account.
func viewerConfig() *rest.Config {
	c := rest.CopyConfig(hub.config)
	c.Impersonate.UserName = "system:serviceaccount:multicluster-integrations:multicluster-integrations-liveview"
	c.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	return c
}

func (f *fixture) startViewer(t *testing.T) (stop func()) {
	t.Helper()
	return run(t, viewerConfig(), Caches(), func(mgr ctrl.Manager) error {
		r, err := argoredis.New(argoredis.Options{Address: f.hub.Addr(), Compression: "gzip", Namespace: "argocd", Secret: "argocd-redis"}, mgr.GetAPIReader())
		if err != nil {
			return err
		}
		return mgr.Add(&Viewer{
			Options: Options{ArgoCDNamespace: "argocd", Observer: observer, Keep: time.Second, MaxOpen: 10, Recheck: 300 * time.Millisecond},
			Client:  mgr.GetClient(), Live: mgr.GetAPIReader(), Redis: r, Log: logr.Discard(),
		})
	})
}

func run(t *testing.T, c *rest.Config, watched map[client.Object]cache.ByObject, setup func(ctrl.Manager) error) (stop func()) {
	t.Helper()
	skip := true
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme: hub.scheme, Cache: cache.Options{ByObject: watched}, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
	})
	must(t, err)
	must(t, setup(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() { cancel(); must(t, <-done) }
}

// agent is the work agent: it applies ConfigMaps of works, reports them and removes them.
func agent(ctx context.Context) {
	for ctx.Err() == nil {
		works := &workv1.ManifestWorkList{}
		if hub.client.List(ctx, works, client.HasLabels{request.Label}) == nil {
			applied := map[string]bool{}
			for i := range works.Items {
				applied[works.Items[i].Name] = true
				carry(ctx, &works.Items[i])
			}
			found := &corev1.ConfigMapList{}
			if hub.client.List(ctx, found, client.InNamespace(observer), client.HasLabels{request.Label}) == nil {
				for i := range found.Items {
					if !applied[found.Items[i].Name] {
						_ = hub.client.Delete(ctx, &found.Items[i]) // it is tried again
					}
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func carry(ctx context.Context, w *workv1.ManifestWork) {
	o := &unstructured.Unstructured{}
	if o.UnmarshalJSON(w.Spec.Workload.Manifests[0].Raw) != nil || hub.client.Patch(ctx, o, client.Apply, client.FieldOwner("work-agent"), client.ForceOwnership) != nil { //nolint:staticcheck // as the agent does
		return
	}
	values := []workv1.FeedbackValue{}
	for name, path := range map[string][]string{request.ViewKey: {"binaryData", request.ViewKey}, request.MessageKey: {"data", request.MessageKey}} {
		if text, found, _ := unstructured.NestedString(o.Object, path...); found {
			values = append(values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &text}})
		}
	}
	next := w.DeepCopy()
	next.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{StatusFeedbacks: workv1.StatusFeedbackResult{Values: values}, Conditions: []metav1.Condition{}}}
	if fmt.Sprint(request.ResultOf(w)) != fmt.Sprint(request.ResultOf(next)) {
		_ = hub.client.Status().Update(ctx, next) // it is tried again
	}
}

func newApplication(generate, name string) *unstructured.Unstructured {
	app := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"spec": map[string]any{"project": "p", "destination": map[string]any{}},
	}}
	app.SetNamespace("argocd")
	app.SetName(name)
	app.SetGenerateName(generate)
	app.SetLabels(map[string]string{contract.PullLabel: "true"})
	app.SetAnnotations(map[string]string{contract.ClusterAnnotation: cluster, "argocd.argoproj.io/skip-reconcile": "true"})
	return app
}

// deliveryOf is the ManifestWork by which propagation delivers an Application.
func deliveryOf(app *unstructured.Unstructured, cluster string) *workv1.ManifestWork {
	delivered := []byte(fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"argocd","name":%q}}`, app.GetName()))
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, Name: contract.WorkName(app.GetName(), string(app.GetUID())),
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: app.GetNamespace(), contract.HubNameAnnotation: app.GetName()},
		},
		Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: delivered}}}}},
	}
}

// set has a Redis hold the tree of an Application.
func set(t *testing.T, r *miniredis.Miniredis, instance, tree string) {
	t.Helper()
	c, err := argoredis.New(argoredis.Options{Address: r.Addr(), Compression: "gzip"}, nil)
	must(t, err)
	defer c.Close() // nothing is buffered
	must(t, c.Write(t.Context(), instance, viewOf(tree), time.Hour))
}

// open subscribes as argocd-server does for a page.
func (f *fixture) open(t *testing.T, channel string) (leave func()) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: f.hub.Addr()})
	s := c.Subscribe(t.Context(), channel)
	_, err := s.Receive(t.Context())
	must(t, err)
	return func() { must(t, errors.Join(s.Close(), c.Close())) }
}

const guestbook = "app|managed-resources|guestbook|1.8.3"

// read returns the tree that the hub's Redis has.
func (f *fixture) read(instance string) (string, error) {
	c, err := argoredis.New(argoredis.Options{Address: f.hub.Addr(), Compression: "gzip"}, nil)
	if err != nil {
		return "", err
	}
	defer c.Close() // nothing is buffered
	v, err := c.Read(context.Background(), instance)
	return string(v.Tree), err
}

func (f *fixture) awaitTree(t *testing.T, text string) {
	t.Helper()
	testkit.Eventually(t, "a tree with "+text, func() error {
		got, err := f.read("guestbook")
		if err == nil && !strings.Contains(got, text) {
			err = errors.New(got)
		}
		return err
	})
}

func (f *fixture) awaitNothing(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the view to be taken back", func() error {
		if _, err := f.read("guestbook"); !errors.Is(err, argoredis.ErrNone) {
			return fmt.Errorf("in Redis: %w", err)
		}
		return none(&workv1.ManifestWorkList{}, client.HasLabels{request.Label})
	})
}

func none(list client.ObjectList, options ...client.ListOption) error {
	if err := hub.client.List(context.Background(), list, options...); err != nil {
		return err
	}
	raw, err := json.Marshal(list)
	if err == nil && strings.Contains(string(raw), `"name":`) {
		err = errors.New(string(raw))
	}
	return err
}

func TestView_isShownWhileOpen(t *testing.T) {
	f := newFixture(t)
	leave := f.open(t, guestbook)
	f.awaitTree(t, `"name":"c"`)
	if got, _ := f.read("guestbook"); strings.Contains(got, "uid") {
		t.Errorf("a UID: %s", got)
	}
	set(t, f.managed, "guestbook", `{"nodes":[{"kind":"ConfigMap","name":"changed"}]}`)
	f.awaitTree(t, `"name":"changed"`)
	leave()
	f.awaitNothing(t)
}

// A page that has a tree shows none again when its first request, which began before, fails
// later: it is sent the tree again soon.
func TestView_isSentAgainSoon(t *testing.T) {
	f := newFixture(t)
	c := redis.NewClient(&redis.Options{Addr: f.hub.Addr()})
	defer c.Close() // nothing is buffered
	s := c.Subscribe(t.Context(), guestbook)
	defer s.Close() // nothing is buffered
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	for sent := 0; sent < 3; {
		message, err := s.Receive(ctx)
		must(t, err)
		if _, is := message.(*redis.Message); is {
			sent++
		}
	}
}

// What a viewer was stopped with, the next one takes back.
func TestView_isTakenBackAfterRestart(t *testing.T) {
	f := newFixture(t)
	leave := f.open(t, guestbook)
	f.awaitTree(t, `"name":"c"`)
	leave()
	f.restart()
	f.awaitNothing(t)
}

// A tenant can name any cluster in its Application: only what propagation delivered counts.
func TestView_ofApplicationThatIsNotDelivered(t *testing.T) {
	f := newFixture(t)
	change := func(app *unstructured.Unstructured) { // another, which propagation has not delivered
		must(t, hub.client.Create(t.Context(), app))
		t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), app)) })
		set(t, f.managed, app.GetName(), tree)
		t.Cleanup(f.open(t, "app|managed-resources|"+app.GetName()+"|1.8.3"))
	}
	change(newApplication("", "not-delivered"))
	foreign := newApplication("", "foreign-work")
	change(foreign)
	work := deliveryOf(foreign, cluster) // of an Application of this name that was there before
	work.Name = contract.WorkName("foreign-work", "another-uid")
	must(t, hub.client.Create(t.Context(), work))
	own := newApplication("", "own")
	own.SetLabels(nil)
	change(own)
	reconciled := newApplication("", "reconciled")
	reconciled.SetAnnotations(map[string]string{contract.ClusterAnnotation: cluster})
	change(reconciled)
	must(t, hub.client.Create(t.Context(), deliveryOf(reconciled, cluster)))
	// One that is delivered proves that the viewer has looked since.
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	works := &workv1.ManifestWorkList{}
	must(t, hub.client.List(t.Context(), works, client.HasLabels{request.Label}))
	if len(works.Items) != 1 || works.Items[0].Name != request.Name("guestbook") {
		t.Errorf("%d works: %v", len(works.Items), works.Items)
	}
}

// A work that was taken over has the name of an Application that was there before.
func TestView_ofDeliveryThatWasTakenOver(t *testing.T) {
	f := newFixture(t)
	must(t, hub.client.Delete(t.Context(), deliveryOf(f.app, cluster)))
	work := deliveryOf(f.app, cluster)
	work.Name = contract.WorkName("guestbook", "another-uid")
	work.Annotations[contract.HubUIDAnnotation] = string(f.app.GetUID())
	must(t, hub.client.Create(t.Context(), work))
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
}

// An Application that moves has no view of where it was.
func TestView_goesWhenTheApplicationMoves(t *testing.T) {
	f := newFixture(t)
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	f.app.SetAnnotations(map[string]string{contract.ClusterAnnotation: "cluster2", "argocd.argoproj.io/skip-reconcile": "true"})
	must(t, hub.client.Patch(t.Context(), f.app, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+contract.ClusterAnnotation+`":"cluster2"}}}`))))
	f.awaitNothing(t)
}

// Of an unknown version neither hub nor cluster has anything read or written.
func TestView_ofUnknownVersionIsNotWritten(t *testing.T) {
	f := newFixture(t)
	later := f.open(t, "app|managed-resources|later|9.9.9")
	defer later()
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	for _, key := range f.hub.Keys() {
		if !strings.Contains(key, "|guestbook|1.8.3") {
			t.Errorf("wrote %s", key)
		}
	}
	f.managed.FlushAll()
	must(t, f.managed.Set("app|resources-tree|guestbook|9.9.9.gz", "x"))
	testkit.Eventually(t, "the observer to say so", func() error {
		cm := &corev1.ConfigMap{}
		err := hub.client.Get(t.Context(), client.ObjectKey{Namespace: observer, Name: request.Name("guestbook")}, cm)
		if err == nil && !strings.Contains(cm.Data[request.MessageKey], "9.9.9") {
			err = errors.New(cm.Data[request.MessageKey])
		}
		return err
	})
}

// A managed cluster that lies spoils its own Application's view only.
func TestView_ofHostileClusterIsNotWritten(t *testing.T) {
	f := newFixture(t)
	w, err := request.Work("guestbook", cluster, "argocd/guestbook", observer)
	must(t, err)
	must(t, hub.client.Create(t.Context(), w))
	must(t, f.managed.Set("app|resources-tree|guestbook|1.8.3.gz", "no gzip"))
	must(t, f.managed.Set("app|managed-resources|guestbook|1.8.3.gz", "no gzip"))
	testkit.Eventually(t, "the observer to refuse", func() error {
		cm := &corev1.ConfigMap{}
		err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: observer, Name: w.Name}}), cm)
		if err == nil && (cm.Data[request.MessageKey] == "" || cm.BinaryData != nil) {
			err = fmt.Errorf("%v", cm.Data)
		}
		return err
	})
	must(t, hub.client.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: observer, Name: w.Name}},
		client.RawPatch("application/merge-patch+json", []byte(`{"binaryData":{"view":"`+base64.StdEncoding.EncodeToString([]byte("garbage"))+`"}}`))))
	testkit.Eventually(t, "the agent to report it", func() error {
		got := &workv1.ManifestWork{}
		err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(w), got)
		if err == nil && request.ResultOf(got).View == "" {
			err = errors.New("no view")
		}
		return err
	})
	leave := f.open(t, guestbook)
	defer leave()
	second := newApplication("", "second")
	must(t, hub.client.Create(t.Context(), second))
	defer func() { must(t, hub.client.Delete(context.Background(), second)) }()
	must(t, hub.client.Create(t.Context(), deliveryOf(second, cluster)))
	set(t, f.managed, "second", tree)
	leaveSecond := f.open(t, "app|managed-resources|second|1.8.3")
	defer leaveSecond()
	testkit.Eventually(t, "the view of the other Application", func() error { _, err := f.read("second"); return err })
	if _, err := f.read("guestbook"); !errors.Is(err, argoredis.ErrNone) {
		t.Errorf("garbage was written: %v", err)
	}
}

// The policy leaves the viewer's account its own works and two fields of Applications.
func TestPolicy_leavesTheViewerNothingElse(t *testing.T) {
	c, err := client.New(viewerConfig(), client.Options{Scheme: hub.scheme})
	must(t, err)
	app := newApplication("", "policy")
	must(t, hub.client.Create(t.Context(), app))
	defer func() { must(t, hub.client.Delete(context.Background(), app)) }()
	must(t, hub.client.Patch(t.Context(), app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"sync":{"status":"Synced"}}}`))))
	foreign := deliveryOf(app, cluster)
	must(t, hub.client.Create(t.Context(), foreign))
	defer func() { must(t, hub.client.Delete(context.Background(), foreign)) }()
	work := func(change func(*workv1.ManifestWork)) *workv1.ManifestWork {
		w, err := request.Work("policy", cluster, "argocd/policy", observer)
		must(t, err)
		change(w)
		return w
	}
	manifest := func(raw string) func(*workv1.ManifestWork) {
		return func(w *workv1.ManifestWork) { w.Spec.Workload.Manifests[0].Raw = []byte(raw) }
	}
	patch := func(text string) error {
		return c.Patch(t.Context(), application(client.ObjectKeyFromObject(app)), client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	refused := map[string]func() error{
		"a Secret": func() error {
			return c.Create(t.Context(), work(manifest(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"`+observer+`","name":"`+request.Name("policy")+`"}}`)))
		},
		"a ConfigMap elsewhere": func() error {
			return c.Create(t.Context(), work(manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"kube-system","name":"`+request.Name("policy")+`"}}`)))
		},
		"two manifests": func() error {
			return c.Create(t.Context(), work(func(w *workv1.ManifestWork) {
				w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, w.Spec.Workload.Manifests[0])
			}))
		},
		"another name": func() error { return c.Create(t.Context(), work(func(w *workv1.ManifestWork) { w.Name = "other" })) },
		"no label":     func() error { return c.Create(t.Context(), work(func(w *workv1.ManifestWork) { w.Labels = nil })) },
		"another's":    func() error { return c.Delete(t.Context(), foreign.DeepCopy()) },
		"spec":         func() error { return patch(`{"spec":{"project":"other"}}`) },
		"operation":    func() error { return patch(`{"operation":{"sync":{}}}`) },
		"annotation":   func() error { return patch(`{"metadata":{"annotations":{"a":"b"}}}`) },
		"health":       func() error { return patch(`{"status":{"health":{"status":"Healthy"}}}`) },
		"summary":      func() error { return patch(`{"status":{"summary":{"images":["a"]}}}`) },
		"sync taken":   func() error { return patch(`{"status":{"sync":null}}`) },
		"a Secret of another name": func() error {
			return c.Get(t.Context(), client.ObjectKey{Namespace: "argocd", Name: "argocd-secret"}, &corev1.Secret{})
		},
	}
	for name, try := range refused {
		testkit.Eventually(t, name+" to be refused", func() error {
			if err := try(); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				return fmt.Errorf("not refused: %w", err)
			}
			return nil
		})
	}
	must(t, patch(`{"status":{"resources":[{"kind":"ConfigMap","name":"c"}],"resourceHealthSource":"appTree"}}`))
	must(t, patch(`{"status":{"resources":null}}`))
	own := work(func(*workv1.ManifestWork) {})
	must(t, c.Create(t.Context(), own))
	must(t, c.Delete(t.Context(), own))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func apply(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, document := range strings.Split(string(content), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return err
		}
		if o.Object == nil {
			continue // a comment
		}
		if err := hub.client.Create(context.Background(), o); err != nil {
			return fmt.Errorf("%s %s: %w", path, o.GetName(), err)
		}
	}
	return nil
}

func viewOf(tree string) view.View { return view.View{Tree: []byte(tree), Resources: []byte("[]")} }
