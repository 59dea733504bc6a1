// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
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

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
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
	// cached and live read what it reads, from its caches and from the API server.
	cached *cacheReader
	live   *liveReader
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

// startFrozen lets a test hold back what the cache gets.
func startFrozen(t *testing.T, f *freezer, change ...func(*Options)) *propagation {
	t.Helper()
	return startAll(t, setting{frozen: f}, change...)
}

func startBetween(t *testing.T, wrap, wrapLive func(client.Client) client.Client, change ...func(*Options)) *propagation {
	t.Helper()
	return startAll(t, setting{wrap: wrap, wrapLive: wrapLive}, change...)
}

// setting is what a test puts between delivery and the API server.
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
	t.Cleanup(func() {
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
	p.live = &liveReader{api: mgr.GetAPIReader(), cache: p.cached, unlabelled: unlabelled}
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
