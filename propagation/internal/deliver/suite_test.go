// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
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
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server that all tests of this package share. Each test has its own namespaces and clusters.
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

// propagation is a running manager with the delivery controllers.
type propagation struct {
	requests *requests
	stop     func()
	// cached and live read the objects of the manager, from its caches and from the API server.
	cached *cacheReader
	live   *liveReader
}

// start runs delivery until the test ends or stop is called.
func start(t *testing.T, change ...func(*Options)) *propagation {
	t.Helper()
	return startWith(t, nil, change...)
}

// startWith also wraps the client of delivery.
func startWith(t *testing.T, wrap func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startBetween(t, wrap, nil, change...)
}

// startReading wraps the client of delivery's live reads.
func startReading(t *testing.T, wrap func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startBetween(t, nil, wrap, change...)
}

// startFrozen lets a test delay the watch events of the cache.
func startFrozen(t *testing.T, f *freezer, change ...func(*Options)) *propagation {
	t.Helper()
	return startAll(t, setting{frozen: f}, change...)
}

func startBetween(t *testing.T, wrap, wrapLive func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startAll(t, setting{wrap: wrap, wrapLive: wrapLive}, change...)
}

// setting has the wrappers between delivery and the API server.
type setting struct {
	wrap, wrapLive func(client.Client) client.Client
	frozen         *freezer
}

func startAll(t *testing.T, between setting, change ...func(*Options)) *propagation {
	t.Helper()
	begin(t)
	options := Options{ArgoCDNamespace: "argocd", Binding: BindingPlacement, Concurrency: 4, Namespace: true, Project: true, SizeLimit: 500 * 1024,
		Withdrawals: budget.Settings{Group: limit.Limit{Percent: 100}, Hub: limit.Limit{Percent: 100}, Window: time.Minute}}
	for _, c := range change {
		c(&options)
	}
	p := &propagation{requests: &requests{}}
	before := panics(t)
	t.Cleanup(func() {
		if n := panics(t) - before; n > 0 {
			t.Errorf("reconcilers of this process have panicked %v times", n)
		}
		for _, request := range p.requests.unguarded {
			t.Errorf("%s has no precondition of UID and resourceVersion", request)
		}
	})
	config := rest.CopyConfig(hub.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, p.requests} })
	if between.frozen != nil {
		config.Wrap(between.frozen.wrap)
		t.Cleanup(between.frozen.thaw)
	}
	informers, err := appcache.Informers(config)
	if err != nil {
		t.Fatalf("set up informers: %v", err)
	}
	caches := appcache.Caches(options.ArgoCDNamespace, options.SizeLimit)
	if len(options.AgentNamespaces) > 0 {
		maps.Copy(caches, register.Caches(true, options.AgentNamespaces...))
	}
	managed := ctrl.Options{
		Scheme:     hub.scheme,
		Logger:     logr.Discard(),
		Cache:      cache.Options{ByObject: caches, NewInformer: informers},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: skipNames(),
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			c, err := appcache.NewClient(config, o)
			if err != nil || between.wrap == nil {
				return c, err
			}
			return between.wrap(c), nil
		},
	}
	mgr, err := ctrl.NewManager(config, managed)
	if err != nil {
		t.Fatalf("create manager: %v", err)
	}
	if between.wrapLive != nil {
		live, err := client.NewWithWatch(config, client.Options{Scheme: hub.scheme})
		if err != nil {
			t.Fatalf("create client: %v", err)
		}
		mgr = reading{mgr, between.wrapLive(live)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	index, err := appcache.NewIndex(ctx, mgr.GetCache())
	if err != nil {
		t.Fatalf("index works: %v", err)
	}
	if err := Setup(ctx, mgr, index, options); err != nil {
		cancel()
		t.Fatalf("set up delivery: %v", err)
	}
	p.cached = &cacheReader{cache: mgr.GetClient(), index: index, direct: mgr.GetAPIReader(), options: options}
	p.live = &liveReader{api: mgr.GetAPIReader(), cache: p.cached}
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

// panics returns the number of panics in reconcilers, because controller-runtime recovers from them and
// retries.
func panics(t *testing.T) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			for _, m := range family.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// reading is a manager with another client for live reads.
type reading struct {
	ctrl.Manager
	live client.Reader
}

func (r reading) GetAPIReader() client.Reader { return r.live }

// skipNames allows a second manager in one process.
func skipNames() config.Controller {
	yes := true
	return config.Controller{SkipNameValidation: &yes}
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
	testkit.Eventually(t, "the ManifestWork of "+app.Name+" on "+cluster, func() error {
		own := works(t, app)
		if len(own) != 1 || own[0].Namespace != cluster {
			return fmt.Errorf("there are %d works, conditions %v", len(own), storedConditions(t, app))
		}
		work = own[0]
		return nil
	})
	return &work
}

// withdrawn waits until app has no work, and releases deleted works as their agent does.
func withdrawn(t *testing.T, app *argocd.Application) {
	t.Helper()
	testkit.Eventually(t, "the withdrawal of "+app.Name, func() error {
		own := works(t, app)
		for i := range own {
			if own[i].DeletionTimestamp != nil { // the agent removes its finalizer
				own[i].Finalizers = nil
				_ = hub.client.Update(context.Background(), &own[i]) // the next pass retries
			}
		}
		if len(own) > 0 {
			return fmt.Errorf("there are %d works", len(own))
		}
		return nil
	})
}

// storedConditions returns the messages of the stored Application's conditions by type.
func storedConditions(t *testing.T, app *argocd.Application) map[string]string {
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

// awaitCondition waits until app has a condition of the type with the text in its message. With an empty text it waits
// until the condition is absent.
func awaitCondition(t *testing.T, app *argocd.Application, conditionType, text string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s %q on %s", conditionType, text, app.Name), func() error {
		message, exists := storedConditions(t, app)[conditionType]
		if exists != (text != "") || !strings.Contains(message, text) {
			return fmt.Errorf("conditions are %v", storedConditions(t, app))
		}
		return nil
	})
}

// nextSecond waits until a new object gets a later creation timestamp than then. Creation timestamps have a
// resolution of one second.
func nextSecond(t *testing.T, then metav1.Time) {
	t.Helper()
	testkit.Eventually(t, "the next second", func() error {
		if time.Now().Unix() <= then.Unix() {
			return errors.New("not yet")
		}
		return nil
	})
}

// freezer delays the watch events of one resource, so that the cache keeps outdated objects.
type freezer struct {
	resource string

	mu   sync.Mutex
	gate chan struct{} // closed while nothing is delayed
}

func newFreezer(resource string) *freezer {
	f := &freezer{resource: resource, gate: make(chan struct{})}
	close(f.gate)
	return f
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate = make(chan struct{})
}

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.gate:
	default:
		close(f.gate)
	}
}

func (f *freezer) open() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gate
}

func (f *freezer) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/"+f.resource) {
			response.Body = &frozenBody{response.Body, f, r}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

type frozenBody struct {
	io.ReadCloser
	freezer *freezer
	request *http.Request
}

func (b *frozenBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	select {
	case <-b.freezer.open():
	case <-b.request.Context().Done():
	}
	return n, err
}

// hasPreconditions reports whether a deletion contains the UID and the resource version of its object.
func hasPreconditions(r *http.Request) bool {
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	var options metav1.DeleteOptions
	return err == nil && json.Unmarshal(raw, &options) == nil && options.Preconditions != nil &&
		options.Preconditions.UID != nil && options.Preconditions.ResourceVersion != nil
}
