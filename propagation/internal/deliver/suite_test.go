// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server that all tests of this package share; each test has its
// own namespaces and clusters.
var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), eventsv1.AddToScheme(hub.scheme), argocd.AddToScheme(hub.scheme), workv1.Install(hub.scheme),
			clusterv1.Install(hub.scheme), clusterv1beta1.Install(hub.scheme)); err != nil {
			return err
		}
		hub.client, err = client.New(c, client.Options{Scheme: hub.scheme})
		return err
	})
}

// propagation is a running manager with delivery in it.
type propagation struct {
	requests *requests
	stop     func()
}

// start runs delivery until the test ends or stop is called.
func start(t *testing.T, change ...func(*Options)) *propagation {
	t.Helper()
	return startWith(t, nil, change...)
}

// startWith also lets a test stand between delivery and the API server.
func startWith(t *testing.T, wrap func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startBetween(t, wrap, nil, change...)
}

// startReading lets a test stand between delivery and its live reads.
func startReading(t *testing.T, wrap func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startBetween(t, nil, wrap, change...)
}

// startFrozen lets a test keep what the cache hears back.
func startFrozen(t *testing.T, f *freezer, change ...func(*Options)) *propagation {
	t.Helper()
	return startAll(t, nil, nil, f, change...)
}

func startBetween(t *testing.T, wrap, wrapLive func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startAll(t, wrap, wrapLive, nil, change...)
}

func startAll(t *testing.T, wrap, wrapLive func(client.Client) client.Client, frozen *freezer, change ...func(*Options)) *propagation {
	t.Helper()
	options := Options{ArgoCDNamespace: "argocd", Binding: BindingPlacement, Concurrency: 4, Namespace: true, Project: true, SizeLimit: 500 * 1024, SweepInterval: time.Hour,
		Withdrawals: guard.Settings{Group: guard.Limit{Percent: 100}, Hub: guard.Limit{Percent: 100}, Window: time.Minute}}
	for _, c := range change {
		c(&options)
	}
	p := &propagation{requests: &requests{}}
	t.Cleanup(func() {
		for _, request := range p.requests.unguarded {
			t.Errorf("%s has no precondition of UID and resourceVersion", request)
		}
	})
	config := rest.CopyConfig(hub.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, p.requests} })
	if frozen != nil {
		config.Wrap(frozen.wrap)
		t.Cleanup(frozen.thaw)
	}
	informers, err := Informers(config)
	if err != nil {
		t.Fatalf("set up informers: %v", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:     hub.scheme,
		Logger:     logr.Discard(),
		Cache:      cache.Options{ByObject: Caches(options.ArgoCDNamespace), NewInformer: informers},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: skipNames(),
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			c, err := NewClient(config, o)
			if err != nil || wrap == nil {
				return c, err
			}
			return wrap(c), nil
		},
	})
	if err != nil {
		t.Fatalf("create manager: %v", err)
	}
	if wrapLive != nil {
		live, err := client.NewWithWatch(config, client.Options{Scheme: hub.scheme})
		if err != nil {
			t.Fatalf("create client: %v", err)
		}
		mgr = reading{mgr, wrapLive(live)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	index, err := NewIndex(ctx, mgr.GetCache())
	if err != nil {
		t.Fatalf("index works: %v", err)
	}
	if err := Setup(ctx, mgr, index, options); err != nil {
		cancel()
		t.Fatalf("set up delivery: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
		for _, patch := range p.requests.blindPatches() {
			t.Errorf("a patch would write over what another writer has just written: %s", patch)
		}
	})
	t.Cleanup(p.stop)
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("caches did not sync")
	}
	return p
}

// reading is a manager with other live reads.
type reading struct {
	ctrl.Manager
	live client.Reader
}

func (r reading) GetAPIReader() client.Reader { return r.live }

// skipNames lets a test start a second manager in one process.
func skipNames() config.Controller {
	yes := true
	return config.Controller{SkipNameValidation: &yes}
}

// requests are those that change something on the hub; Events are no change.
type requests struct {
	mu    sync.Mutex
	paths []string
	// done are those of them that the API server has done, refused those that it has not.
	done, refused []string
	// blind are the patches of Applications and ManifestWorks that do not say which
	// version they are for.
	blind []string
	// unguarded are the deletions without the preconditions that keep a stale cache,
	// or a second writer, from costing an object.
	unguarded []string
}

func (r *requests) blindPatches() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blind
}

// versioned reports whether a patch, be it a merge patch or a JSON patch, says which
// version of the object it is for.
func versioned(body []byte) bool {
	var merge struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	var steps []struct {
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if json.Unmarshal(body, &merge) == nil {
		return merge.Metadata.ResourceVersion != ""
	}
	return json.Unmarshal(body, &steps) == nil && len(steps) > 0 && steps[0].Path == "/metadata/resourceVersion" && steps[0].Value != ""
}

// in returns the requests for objects in the namespaces: what other tests left on
// the shared hub is none of a test's business.
func (r *requests) in(namespaces ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return within(r.paths, namespaces)
}

// doneIn returns those of [requests.in] that the API server has done: it refuses one that
// was made from an outdated cache.
func (r *requests) doneIn(namespaces ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return within(r.done, namespaces)
}

func (r *requests) refusedIn(namespaces ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(within(r.refused, namespaces))
}

func within(paths, namespaces []string) []string {
	var found []string
	for _, path := range paths {
		for _, namespace := range namespaces {
			if strings.Contains(path, "/namespaces/"+namespace+"/") {
				found = append(found, path)
			}
		}
	}
	return found
}

type recorder struct {
	next     http.RoundTripper
	requests *requests
}

func (c recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && (strings.Contains(r.URL.Path, "/applications/") || strings.Contains(r.URL.Path, "/manifestworks/")) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !versioned(body) {
			c.requests.mu.Lock()
			c.requests.blind = append(c.requests.blind, r.URL.Path+" "+string(body))
			c.requests.mu.Unlock()
		}
	}
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
		guarded := r.Method != http.MethodDelete || hasPreconditions(r)
		c.requests.mu.Lock()
		if !guarded {
			c.requests.unguarded = append(c.requests.unguarded, r.Method+" "+r.URL.Path)
		}
		c.requests.paths = append(c.requests.paths, r.Method+" "+r.URL.Path)
		c.requests.mu.Unlock()
	}
	answer, err := c.next.RoundTrip(r)
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
		c.requests.mu.Lock()
		list := &c.requests.refused
		if err == nil && answer.StatusCode < http.StatusMultipleChoices {
			list = &c.requests.done
		}
		*list = append(*list, r.Method+" "+r.URL.Path)
		c.requests.mu.Unlock()
	}
	return answer, err
}

var serial atomic.Int64

// place is a namespace that may deliver to a cluster.
type place struct {
	t                  *testing.T
	namespace, cluster string
}

// newPlace makes a namespace, a ManagedCluster and, so that the one may use the
// other, a PlacementDecision.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, namespace: fmt.Sprintf("team-%d", serial.Add(1)), cluster: newCluster(t)}
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
	p.bind(p.cluster)
	return p
}

func newCluster(t *testing.T) string {
	t.Helper()
	p := &place{t: t}
	name := fmt.Sprintf("cluster-%d", serial.Add(1))
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	p.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	available(t, name, metav1.ConditionTrue, time.Now())
	return name
}

// available is what the hub says of a cluster, as of since.
func available(t *testing.T, cluster string, status metav1.ConditionStatus, since time.Time) {
	t.Helper()
	for {
		c := &clusterv1.ManagedCluster{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Name: cluster}, c); err != nil {
			t.Fatalf("get ManagedCluster: %v", err)
		}
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "ManagedClusterAvailable", LastTransitionTime: metav1.NewTime(since),
		}}
		err := hub.client.Status().Update(context.Background(), c)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			t.Fatalf("write the status of ManagedCluster %s: %v", cluster, err)
		}
		return
	}
}

// bind makes a PlacementDecision of that name that selects clusters.
func (p *place) bind(clusters ...string) {
	p.t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "decision"}}
	err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(d), d)
	if apierrors.IsNotFound(err) {
		p.create(d)
	} else if err != nil {
		p.t.Fatalf("get PlacementDecision: %v", err)
	}
	d.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	for _, c := range clusters {
		d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
	}
	if err := hub.client.Status().Update(context.Background(), d); err != nil {
		p.t.Fatalf("write PlacementDecision: %v", err)
	}
}

// app returns an Application of the place that is to be delivered.
func (p *place) app(name string, change ...func(*argocd.Application)) *argocd.Application {
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: name,
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: p.cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook","targetRevision":"main"},"destination":{"namespace":"guestbook","name":"` + p.cluster + `"}}`),
	}
	for _, c := range change {
		c(a)
	}
	return a
}

// deploy creates app(name).
func (p *place) deploy(name string, change ...func(*argocd.Application)) *argocd.Application {
	p.t.Helper()
	a := p.app(name, change...)
	p.create(a)
	return a
}

func (p *place) create(o client.Object) {
	p.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		p.t.Fatalf("create %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
	}
}

// edit changes the stored object.
func edit[T client.Object](t *testing.T, o T, change func(T)) {
	t.Helper()
	for {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatalf("get %T %s: %v", o, o.GetName(), err)
		}
		change(o)
		err := hub.client.Update(context.Background(), o)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			t.Fatalf("update %T %s: %v", o, o.GetName(), err)
		}
		return
	}
}

func remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := hub.client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete %T %s: %v", o, o.GetName(), err)
	}
}

// eventually waits until check is content and fails with what it last said.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waited for %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// works returns the ManifestWorks of an Application on any cluster.
func works(t *testing.T, app *argocd.Application) []workv1.ManifestWork {
	t.Helper()
	var all workv1.ManifestWorkList
	if err := hub.client.List(context.Background(), &all); err != nil {
		t.Fatalf("list ManifestWorks: %v", err)
	}
	var own []workv1.ManifestWork
	for _, w := range all.Items {
		if w.Annotations[contract.HubNamespaceAnnotation] == app.Namespace && w.Annotations[contract.HubNameAnnotation] == app.Name {
			own = append(own, w)
		}
	}
	return own
}

// delivered waits for the one work of app on cluster.
func delivered(t *testing.T, app *argocd.Application, cluster string) *workv1.ManifestWork {
	t.Helper()
	var work workv1.ManifestWork
	eventually(t, "the ManifestWork of "+app.Name+" on "+cluster, func() error {
		own := works(t, app)
		if len(own) != 1 || own[0].Namespace != cluster {
			return fmt.Errorf("there are %d works, conditions %v", len(own), said(t, app))
		}
		work = own[0]
		return nil
	})
	return &work
}

// withdrawn waits until app has no work.
func withdrawn(t *testing.T, app *argocd.Application) {
	t.Helper()
	eventually(t, "the withdrawal of "+app.Name, func() error {
		if own := works(t, app); len(own) > 0 {
			return fmt.Errorf("there are %d works", len(own))
		}
		return nil
	})
}

// said returns our conditions on the stored Application, type to message.
func said(t *testing.T, app *argocd.Application) map[string]string {
	t.Helper()
	stored := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		t.Fatalf("get Application: %v", err)
	}
	var status struct {
		Conditions []struct{ Type, Message string } `json:"conditions"`
	}
	if len(stored.Status) > 0 {
		if err := json.Unmarshal(stored.Status, &status); err != nil {
			t.Fatalf("decode status: %v", err)
		}
	}
	found := map[string]string{}
	for _, c := range status.Conditions {
		found[c.Type] = c.Message
	}
	return found
}

// says waits until app has a condition of the type with the text in its message;
// an empty text: until it has none.
func says(t *testing.T, app *argocd.Application, conditionType, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s %q on %s", conditionType, text, app.Name), func() error {
		message, there := said(t, app)[conditionType]
		if there != (text != "") || !strings.Contains(message, text) {
			return fmt.Errorf("conditions are %v", said(t, app))
		}
		return nil
	})
}

// nextSecond waits until an object that is created now is younger than one of then:
// creation timestamps have seconds.
func nextSecond(t *testing.T, then metav1.Time) {
	t.Helper()
	eventually(t, "the next second", func() error {
		if time.Now().Unix() <= then.Unix() {
			return errors.New("not yet")
		}
		return nil
	})
}
