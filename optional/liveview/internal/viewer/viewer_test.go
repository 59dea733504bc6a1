// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/observe"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	cluster  = "cluster1"
	observer = "multicluster-integrations-observer"
	tree     = `{"nodes":[{"kind":"ConfigMap","name":"c","namespace":"n","uid":"u"}]}`
)

// hub is the API server of both the hub and the managed cluster.
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

// fixture is a viewer with the permissions of deploy/components/liveview, an observer, an agent, and a
// Redis on the hub and on the cluster.
type fixture struct {
	hub, managed *miniredis.Miniredis
	app          *unstructured.Unstructured
	restart      func(meanwhile func())
}

// newFixture delivers an Application that has its tree in the cluster's Redis.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{hub: miniredis.RunT(t), managed: miniredis.RunT(t)}
	f.app = newApplication("", "guestbook")
	must(t, hub.client.Create(t.Context(), f.app))
	must(t, hub.client.Create(t.Context(), delivery(f.app, cluster)))
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
	f.restart = func(meanwhile func()) { stopViewer(); meanwhile(); stopViewer = f.startViewer(t) }
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

// viewerConfig returns the configuration of the viewer's account.
func viewerConfig() *rest.Config {
	c := rest.CopyConfig(hub.config)
	c.Impersonate.UserName = "system:serviceaccount:multicluster-integrations:multicluster-integrations-liveview"
	c.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	return c
}

func (f *fixture) startViewer(t *testing.T) (stop func()) {
	t.Helper()
	return run(t, viewerConfig(), Caches(), func(mgr ctrl.Manager) error {
		applications, err := metadata.NewForConfig(mgr.GetConfig())
		if err != nil {
			return err
		}
		works, err := NewWorks(mgr.GetConfig())
		if err != nil {
			return err
		}
		r, err := argoredis.New(argoredis.Options{Address: f.hub.Addr(), Compression: "gzip", Namespace: "argocd", Secret: "argocd-redis"}, mgr.GetAPIReader())
		if err != nil {
			return err
		}
		return mgr.Add(&Viewer{
			Options: Options{ArgoCDNamespace: "argocd", Observer: observer, Keep: time.Second, MaxOpen: 100, Recheck: 300 * time.Millisecond},
			Client:  mgr.GetClient(), Live: mgr.GetAPIReader(), Works: works, Metadata: applications, Redis: r, Log: logr.Discard(),
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

// agent acts as the work agent: it applies the ConfigMaps of ManifestWorks, reports them and deletes them.
func agent(ctx context.Context) {
	for ctx.Err() == nil {
		works := &workv1.ManifestWorkList{}
		if hub.client.List(ctx, works, client.HasLabels{request.Label}) == nil {
			applied := map[string]bool{}
			for i := range works.Items {
				if !request.IsName(works.Items[i].Name) {
					continue // created by a test
				}
				applied[works.Items[i].Name] = true
				carry(ctx, &works.Items[i])
			}
			found := &corev1.ConfigMapList{}
			if hub.client.List(ctx, found, client.InNamespace(observer), client.HasLabels{request.Label}) == nil {
				for i := range found.Items {
					if !applied[found.Items[i].Name] {
						_ = hub.client.Delete(ctx, &found.Items[i]) // the loop retries
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
	if text, found, _ := unstructured.NestedString(o.Object, "data", request.ViewsKey); found {
		values = append(values, workv1.FeedbackValue{Name: request.ViewsKey, Value: workv1.FieldValue{Type: workv1.String, String: &text}})
	}
	next := w.DeepCopy()
	next.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{StatusFeedbacks: workv1.StatusFeedbackResult{Values: values}, Conditions: []metav1.Condition{}}}
	before, _ := request.ViewsOf(w)
	if after, err := request.ViewsOf(next); err == nil && fmt.Sprint(before) != fmt.Sprint(after) {
		_ = hub.client.Status().Update(ctx, next) // the loop retries
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

// delivery returns the ManifestWork with which propagation delivers an Application.
func delivery(app *unstructured.Unstructured, cluster string) *workv1.ManifestWork {
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

// set writes the tree of an Application to a Redis.
func set(t *testing.T, r *miniredis.Miniredis, instance, tree string) {
	t.Helper()
	c, err := argoredis.New(argoredis.Options{Address: r.Addr(), Compression: "gzip"}, nil)
	must(t, err)
	defer c.Close() // nothing is buffered
	must(t, c.Write(t.Context(), instance, viewOf(tree), time.Hour))
}

// open subscribes to a channel as argocd-server does for an open page.
func (f *fixture) open(t *testing.T, channel string) (leave func()) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: f.hub.Addr()})
	s := c.Subscribe(t.Context(), channel)
	_, err := s.Receive(t.Context())
	must(t, err)
	return func() { must(t, errors.Join(s.Close(), c.Close())) }
}

const guestbook = "app|managed-resources|guestbook|1.8.3"

// read returns a tree from the hub's Redis.
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

// requested returns the Applications that each ManifestWork of the cluster requests.
func (f *fixture) requested(t *testing.T) (all []request.Applications) {
	t.Helper()
	works := &workv1.ManifestWorkList{}
	must(t, hub.client.List(t.Context(), works, client.InNamespace(cluster), client.HasLabels{request.Label}))
	for i := range works.Items {
		applications, err := request.ApplicationsOf(&works.Items[i])
		must(t, err)
		all = append(all, applications)
	}
	return all
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

// The viewer sends a tree again after a short time. The first request of a page may fail after the page has
// received the tree, and the page then shows none.
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

// argocd's command line does not subscribe. If argocd-server has no tree, it refreshes the Application, and
// the viewer then requests the view.
func TestView_isShownAfterRefresh(t *testing.T) {
	f := newFixture(t)
	refresh := func(annotations string) {
		must(t, hub.client.Patch(t.Context(), f.app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{`+annotations+`}}}`))))
	}
	pushed := newApplication("", "pushed")
	pushed.SetAnnotations(map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true", argocd.RefreshAnnotation: "normal"})
	testkit.Eventually(t, "the view", func() error {
		refresh(`"argocd.argoproj.io/refresh":"normal","argocd.argoproj.io/hydrate":"normal"`)
		_, err := f.read("guestbook")
		refresh(`"argocd.argoproj.io/refresh":null,"argocd.argoproj.io/hydrate":null`)
		return err
	})
	f.awaitNothing(t)
	// A push to git refreshes many Applications without an open view.
	must(t, hub.client.Create(t.Context(), pushed))
	t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), pushed)) })
	must(t, hub.client.Create(t.Context(), delivery(pushed, cluster)))
	refresh(`"argocd.argoproj.io/refresh":"normal","argocd.argoproj.io/hydrate":"normal"`)
	testkit.Eventually(t, "the other view", func() error {
		got := f.requested(t)
		if len(got) != 1 {
			return fmt.Errorf("%v", got)
		}
		if _, is := got[0]["pushed"]; is {
			t.Error("what was pushed is requested")
		}
		return nil
	})
}

// After a restart, the viewer removes views that were requested before and are no longer open.
func TestView_isRemovedAfterRestart(t *testing.T) {
	f := newFixture(t)
	leave := f.open(t, guestbook)
	f.awaitTree(t, `"name":"c"`)
	leave()
	f.restart(func() {})
	f.awaitNothing(t)
}

// A tenant can name any cluster in an Application. The viewer requests views only for Applications that
// propagation has delivered.
func TestView_isNotRequestedWithoutDelivery(t *testing.T) {
	f := newFixture(t)
	change := func(app *unstructured.Unstructured) { // creates an Application that propagation has not delivered
		must(t, hub.client.Create(t.Context(), app))
		t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), app)) })
		set(t, f.managed, app.GetName(), tree)
		t.Cleanup(f.open(t, "app|managed-resources|"+app.GetName()+"|1.8.3"))
	}
	change(newApplication("", "not-delivered"))
	foreign := newApplication("", "foreign-work")
	change(foreign)
	work := delivery(foreign, cluster) // the ManifestWork of a deleted Application with this name
	work.Name = contract.WorkName("foreign-work", "another-uid")
	must(t, hub.client.Create(t.Context(), work))
	own := newApplication("", "own")
	own.SetLabels(nil)
	change(own)
	reconciled := newApplication("", "reconciled")
	reconciled.SetAnnotations(map[string]string{contract.ClusterAnnotation: cluster})
	change(reconciled)
	must(t, hub.client.Create(t.Context(), delivery(reconciled, cluster)))
	// A view of a delivered Application proves that the viewer has run a pass since.
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	if got := f.requested(t); len(got) != 1 || fmt.Sprint(got[0]) != "map[guestbook:argocd/guestbook]" {
		t.Errorf("requested: %v", got)
	}
}

// A ManifestWork that propagation took over has the name of the former Application.
func TestView_isShownAfterATakeover(t *testing.T) {
	f := newFixture(t)
	must(t, hub.client.Delete(t.Context(), delivery(f.app, cluster)))
	work := delivery(f.app, cluster)
	work.Name = contract.WorkName("guestbook", "another-uid")
	work.Annotations[contract.HubUIDAnnotation] = string(f.app.GetUID())
	must(t, hub.client.Create(t.Context(), work))
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
}

// The view of an Application is removed when the Application moves to another cluster.
func TestView_isRemovedWhenTheApplicationMoves(t *testing.T) {
	f := newFixture(t)
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	f.app.SetAnnotations(map[string]string{contract.ClusterAnnotation: "cluster2", "argocd.argoproj.io/skip-reconcile": "true"})
	must(t, hub.client.Patch(t.Context(), f.app, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+contract.ClusterAnnotation+`":"cluster2"}}}`))))
	f.awaitNothing(t)
}

// The hub's own Argo CD may take an Application over. The viewer then leaves the Application's status alone.
func TestView_leavesTheStatusOfTheHubsOwn(t *testing.T) {
	f := newFixture(t)
	change := func(patch string) {
		must(t, hub.client.Patch(t.Context(), f.app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))))
	}
	change(`{"status":{"resources":[{"kind":"ConfigMap","name":"c"}]}}`)
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	set(t, f.managed, "guestbook", strings.ReplaceAll(tree, `"c"`, `"d"`))
	f.awaitTree(t, `"name":"d"`) // the pass that wrote the status has ended
	change(`{"metadata":{"labels":{"` + contract.PullLabel + `":null}},"status":{"resources":[{"kind":"ConfigMap","name":"of-the-hub"}]}}`)
	f.awaitNothing(t)
	app := f.app.DeepCopy()
	must(t, hub.client.Get(t.Context(), client.ObjectKeyFromObject(app), app))
	if list, _, _ := unstructured.NestedSlice(app.Object, "status", "resources"); fmt.Sprint(list) != "[map[kind:ConfigMap name:of-the-hub]]" {
		t.Errorf("status.resources are %v", list)
	}
}

// If Argo CD's version is unknown, neither the viewer nor the observer reads or writes trees.
func TestView_isNotWrittenForAnUnknownVersion(t *testing.T) {
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
		err := hub.client.Get(t.Context(), client.ObjectKey{Namespace: observer, Name: request.Name(0)}, cm)
		if err == nil && !strings.Contains(cm.Data[request.ViewsKey], "9.9.9") {
			err = errors.New(cm.Data[request.ViewsKey])
		}
		return err
	})
}

// A managed cluster that sends false data affects only the views of its Applications.
func TestView_isNotWrittenForAHostileCluster(t *testing.T) {
	f := newFixture(t)
	must(t, f.managed.Set("app|resources-tree|guestbook|1.8.3.gz", "no gzip"))
	leave := f.open(t, guestbook)
	defer leave()
	key := client.ObjectKey{Namespace: observer, Name: request.Name(0)}
	testkit.Eventually(t, "the observer to refuse", func() error {
		cm := &corev1.ConfigMap{}
		err := hub.client.Get(t.Context(), key, cm)
		if views, bad := request.ReadViews(cm.Data[request.ViewsKey]); err == nil && (bad != nil || views["guestbook"].Message == "" || views["guestbook"].Blob != nil) {
			err = fmt.Errorf("%v", cm.Data)
		}
		return err
	})
	f.lie(t, key, `{"guestbook":{"blob":"`+base64.StdEncoding.EncodeToString([]byte("garbage"))+`"},"other":{"blob":"AAAA"}}`)
	f.add(t, "second")
	leaveSecond := f.open(t, "app|managed-resources|second|1.8.3")
	defer leaveSecond()
	testkit.Eventually(t, "the view of the other Application", func() error { _, err := f.read("second"); return err })
	if _, err := f.read("guestbook"); !errors.Is(err, argoredis.ErrNone) {
		t.Errorf("garbage was written: %v", err)
	}
	f.lie(t, key, "no JSON")
	set(t, f.managed, "guestbook", tree)
	f.awaitTree(t, `"name":"c"`)
	// If the cluster changes its ManifestWork, a restarted viewer does not use that content.
	f.restart(func() {
		forged, err := request.Work(cluster, request.Name(0), observer, request.Applications{"second": "argocd/second", "elsewhere": "argocd/elsewhere"})
		must(t, err)
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"workload": forged.Spec.Workload}})
		must(t, err)
		must(t, hub.client.Patch(t.Context(), forged, client.RawPatch("application/merge-patch+json", patch)))
	})
	testkit.Eventually(t, "the request to be what is open", func() error {
		if got := f.requested(t); len(got) != 1 || fmt.Sprint(got[0]) != "map[guestbook:argocd/guestbook second:argocd/second]" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
}

// lie overwrites the observer's ConfigMap, as an agent or a cluster's administrator can.
func (f *fixture) lie(t *testing.T, key client.ObjectKey, views string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{request.ViewsKey: views}})
	must(t, err)
	must(t, hub.client.Patch(t.Context(), cm, client.RawPatch("application/merge-patch+json", patch)))
}

// add delivers another Application that has its tree in the cluster's Redis.
func (f *fixture) add(t *testing.T, name string) {
	t.Helper()
	app := newApplication("", name)
	must(t, hub.client.Create(t.Context(), app))
	t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), app)) })
	must(t, hub.client.Create(t.Context(), delivery(app, cluster)))
	set(t, f.managed, name, tree)
}

// One ManifestWork requests all views that are opened together. When it is full, the viewer creates
// another. A view that is too large to share a ManifestWork gets a separate one.
func TestView_sharesAManifestWork(t *testing.T) {
	f := newFixture(t)
	const n = request.MaxApplications + 2
	noise := make([]byte, 2*request.MaxShared)
	for i := range noise {
		noise[i] = "0123456789abcdef"[rand.IntN(16)]
	}
	for i := range n {
		f.add(t, fmt.Sprintf("many-%d", i))
	}
	set(t, f.managed, "many-0", `{"nodes":[{"kind":"ConfigMap","name":"`+string(noise)+`"}]}`)
	for i := range n {
		t.Cleanup(f.open(t, fmt.Sprintf("app|managed-resources|many-%d|1.8.3", i)))
	}
	for i := range n {
		testkit.Eventually(t, "the view", func() error { _, err := f.read(fmt.Sprintf("many-%d", i)); return err })
	}
	testkit.Eventually(t, "three ManifestWorks", func() error {
		sizes := []int{}
		for _, applications := range f.requested(t) {
			sizes = append(sizes, len(applications))
		}
		slices.Sort(sizes)
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1]+sizes[2] != n-1 {
			return fmt.Errorf("they request %v", sizes)
		}
		return nil
	})
}

// One cluster gets at most about half of all views.
func TestView_isLimitedToHalfForOneCluster(t *testing.T) {
	v := &Viewer{Options: Options{MaxOpen: 5, Keep: time.Minute}, Log: logr.Discard(), entries: entries{}}
	for _, c := range []struct {
		cluster string
		want    int
	}{{"a", 3}, {"b", 2}} {
		for i := range 5 {
			v.entries[fmt.Sprint(c.cluster, i)] = &entry{seen: time.Now(), target: &target{cluster: c.cluster}}
		}
		v.assign(nil, time.Now())
		got := 0
		for _, e := range v.entries {
			if e.work != "" && e.target.cluster == c.cluster {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.cluster, got, c.want)
		}
	}
}

// If Argo CD's Redis on the cluster loses a tree, the page shows that the view is not the latest.
func TestView_reportsThatItIsNotTheLatest(t *testing.T) {
	f := newFixture(t)
	leave := f.open(t, guestbook)
	defer leave()
	f.awaitTree(t, `"name":"c"`)
	f.managed.FlushAll()
	f.awaitTree(t, "not the latest: no tree of the Application in Redis yet")
	set(t, f.managed, "guestbook", `{"nodes":[{"kind":"ConfigMap","name":"d"}]}`)
	testkit.Eventually(t, "the latest tree without a note", func() error {
		got, err := f.read("guestbook")
		if err == nil && (!strings.Contains(got, `"name":"d"`) || strings.Contains(got, "latest")) {
			err = errors.New(got)
		}
		return err
	})
}

// If the viewer crashed while it decoded a view, the restarted viewer does not decode it again. Other views
// are shown.
func TestView_isNotDecodedAgainAfterACrash(t *testing.T) {
	f := newFixture(t)
	key := "liveview|decoding|guestbook|1.8.3"
	must(t, f.hub.Set(key, ""))
	leave := f.open(t, guestbook)
	defer leave()
	f.add(t, "second")
	leaveSecond := f.open(t, "app|managed-resources|second|1.8.3")
	defer leaveSecond()
	testkit.Eventually(t, "the view of the other Application", func() error { _, err := f.read("second"); return err })
	if _, err := f.read("guestbook"); !errors.Is(err, argoredis.ErrNone) {
		t.Errorf("it was tried again: %v", err)
	}
	f.hub.Del(key)
	set(t, f.managed, "guestbook", `{"nodes":[{"kind":"ConfigMap","name":"later"}]}`)
	f.awaitTree(t, `"name":"later"`)
	if f.hub.Exists(key) {
		t.Error("the note of a view that was decoded stays")
	}
}

// An Application may move, or lose its cluster, while no viewer runs. Its status.resources of the former
// cluster is removed.
func TestView_isRemovedAfterMoveWithoutViewer(t *testing.T) {
	for name, annotation := range map[string]string{"moved": `"cluster2"`, "without cluster": `null`} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			leave := f.open(t, guestbook)
			f.awaitTree(t, `"name":"c"`)
			must(t, hub.client.Patch(t.Context(), f.app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"resources":[{"kind":"ConfigMap","name":"c"}]}}`))))
			f.restart(func() {
				leave()
				must(t, hub.client.Patch(t.Context(), f.app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+contract.ClusterAnnotation+`":`+annotation+`}}}`))))
			})
			testkit.Eventually(t, "status.resources to go", func() error {
				app := f.app.DeepCopy()
				if err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
					return err
				}
				if list, found, _ := unstructured.NestedSlice(app.Object, "status", "resources"); found {
					return fmt.Errorf("%v", list)
				}
				return nil
			})
			f.awaitNothing(t)
		})
	}
}

// The viewer does not delete another ManifestWork with the label of views.
func TestView_leavesOtherWorksAlone(t *testing.T) {
	f := newFixture(t)
	other := delivery(newApplication("", "other"), cluster)
	other.Labels = map[string]string{request.Label: "true"}
	other.Name = "liveview-other"
	must(t, hub.client.Create(t.Context(), other))
	leave := f.open(t, guestbook)
	f.awaitTree(t, `"name":"c"`)
	leave()
	testkit.Eventually(t, "the view to be taken back", func() error {
		return none(&workv1.ManifestWorkList{}, client.MatchingFields{"metadata.name": request.Name(0)})
	})
	must(t, hub.client.Get(t.Context(), client.ObjectKeyFromObject(other), other))
}

// argocd-server makes server-side diffs on the destination of the hub's Application, with its own
// permissions there. So the viewer sends managed resources only if the destination is the cluster.
func TestView_hasDiffsWhereTheDestinationIsTheCluster(t *testing.T) {
	f := newFixture(t)
	own := newApplication("", "by-name")
	own.Object["spec"] = map[string]any{"project": "p", "destination": map[string]any{"name": cluster, "namespace": "n"}}
	must(t, hub.client.Create(t.Context(), own))
	t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), own)) })
	must(t, hub.client.Create(t.Context(), delivery(own, cluster)))
	c, err := argoredis.New(argoredis.Options{Address: f.managed.Addr(), Compression: "gzip"}, nil)
	must(t, err)
	defer c.Close() // nothing is buffered
	for name, want := range map[string]struct{ resources, note string }{"guestbook": {"[]", "no diffs"}, "by-name": {`[{"kind":"ConfigMap"}]`, ""}} {
		must(t, c.Write(t.Context(), name, view.View{Tree: []byte(tree), Resources: []byte(`[{"kind":"ConfigMap"}]`)}, time.Hour))
		leave := f.open(t, "app|managed-resources|"+name+"|1.8.3")
		defer leave()
		testkit.Eventually(t, "the view of "+name, func() error {
			h, err := argoredis.New(argoredis.Options{Address: f.hub.Addr(), Compression: "gzip"}, nil)
			if err != nil {
				return err
			}
			defer h.Close() // nothing is buffered
			v, err := h.Read(t.Context(), name)
			if err == nil && (string(v.Resources) != want.resources || !strings.Contains(string(v.Tree), want.note) || want.note == "" && strings.Contains(string(v.Tree), "no diffs")) {
				err = fmt.Errorf("%s %s", v.Resources, v.Tree)
			}
			return err
		})
	}
}

// The policy allows the viewer's account only its own ManifestWorks and two fields of Applications.
func TestPolicy_leavesTheViewerNothingElse(t *testing.T) {
	c, err := client.New(viewerConfig(), client.Options{Scheme: hub.scheme})
	must(t, err)
	app := newApplication("", "policy")
	must(t, hub.client.Create(t.Context(), app))
	defer func() { must(t, hub.client.Delete(context.Background(), app)) }()
	must(t, hub.client.Patch(t.Context(), app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"sync":{"status":"Synced"}}}`))))
	foreign := delivery(app, cluster)
	must(t, hub.client.Create(t.Context(), foreign))
	defer func() { must(t, hub.client.Delete(context.Background(), foreign)) }()
	work := func(change func(*workv1.ManifestWork)) *workv1.ManifestWork {
		w, err := request.Work(cluster, request.Name(7), observer, request.Applications{"policy": "argocd/policy"})
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
	existing, err := request.Work(cluster, request.Name(8), observer, request.Applications{"policy": "argocd/policy"})
	must(t, err)
	must(t, c.Create(t.Context(), existing))
	defer func() { must(t, hub.client.Delete(context.Background(), existing)) }()
	workload := func(w *workv1.ManifestWork) []byte {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"workload": w.Spec.Workload}})
		must(t, err)
		return patch
	}
	refused := map[string]func() error{
		"a Secret": func() error {
			return c.Create(t.Context(), work(manifest(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"`+observer+`","name":"`+request.Name(7)+`"}}`)))
		},
		"a ConfigMap elsewhere": func() error {
			return c.Create(t.Context(), work(manifest(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"kube-system","name":"`+request.Name(7)+`"}}`)))
		},
		"two manifests": func() error {
			return c.Create(t.Context(), work(func(w *workv1.ManifestWork) {
				w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, w.Spec.Workload.Manifests[0])
			}))
		},
		"another name": func() error { return c.Create(t.Context(), work(func(w *workv1.ManifestWork) { w.Name = "other" })) },
		"no label":     func() error { return c.Create(t.Context(), work(func(w *workv1.ManifestWork) { w.Labels = nil })) },
		"a patch of one that is another's": func() error {
			return c.Patch(t.Context(), foreign.DeepCopy(), client.RawPatch("application/merge-patch+json", workload(work(func(*workv1.ManifestWork) {}))))
		},
		"a Secret in its own": func() error {
			secret := work(manifest(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"` + observer + `","name":"` + request.Name(8) + `"}}`))
			return c.Patch(t.Context(), existing.DeepCopy(), client.RawPatch("application/merge-patch+json", workload(secret)))
		},
		"another's":  func() error { return c.Delete(t.Context(), foreign.DeepCopy()) },
		"spec":       func() error { return patch(`{"spec":{"project":"other"}}`) },
		"operation":  func() error { return patch(`{"operation":{"sync":{}}}`) },
		"annotation": func() error { return patch(`{"metadata":{"annotations":{"a":"b"}}}`) },
		"health":     func() error { return patch(`{"status":{"health":{"status":"Healthy"}}}`) },
		"summary":    func() error { return patch(`{"status":{"summary":{"images":["a"]}}}`) },
		"sync taken": func() error { return patch(`{"status":{"sync":null}}`) },
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
	must(t, c.Patch(t.Context(), own.DeepCopy(), client.RawPatch("application/merge-patch+json", workload(own))))
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
			continue // the document has only comments
		}
		if err := hub.client.Create(context.Background(), o); err != nil {
			return fmt.Errorf("%s %s: %w", path, o.GetName(), err)
		}
	}
	return nil
}

func viewOf(tree string) view.View { return view.View{Tree: []byte(tree), Resources: []byte("[]")} }
