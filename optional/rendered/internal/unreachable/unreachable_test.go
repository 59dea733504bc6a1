// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package unreachable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), clusterv1.Install(hub.scheme), workv1.Install(hub.scheme)); err != nil {
			return err
		}
		hub.client, err = client.New(c, client.Options{Scheme: hub.scheme})
		return err
	})
}

func start(t *testing.T) (writes *atomic.Int64, stop func()) {
	t.Helper()
	return startWith(t, Options{}, func(c client.WithWatch) client.Client { return c })
}

// startWith starts the controller. wrap adds a client between the controller and the API server.
func startWith(t *testing.T, options Options, wrap func(client.WithWatch) client.Client) (writes *atomic.Int64, stop func()) {
	t.Helper()
	counted, writes := testkit.CountWrites(hub.config)
	skipNames := true
	mgr, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skipNames}, Cache: cache.Options{ByObject: Caches()},
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, o)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(mgr, options); err != nil {
		t.Fatal(err)
	}
	return writes, testkit.Run(t, mgr)
}

var since = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func newCluster(t *testing.T, name string) {
	t.Helper()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}},
	} {
		if err := hub.client.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func available(t *testing.T, name string, status metav1.ConditionStatus, at time.Time) {
	t.Helper()
	testkit.EditStatus(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "Test", LastTransitionTime: metav1.NewTime(at)}}
	})
}

func newWork(t *testing.T, cluster, name string, labels map[string]string) {
	t.Helper()
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name, Labels: labels, Annotations: map[string]string{"theirs": "stays"}}}
	if err := hub.client.Create(context.Background(), w); err != nil {
		t.Fatal(err)
	}
}

// marks waits until a ManifestWork's mark is want. "" means no mark.
func marks(t *testing.T, cluster, name, want string) *workv1.ManifestWork {
	t.Helper()
	w := &workv1.ManifestWork{}
	testkit.Eventually(t, fmt.Sprintf("the mark of %s/%s to be %q", cluster, name, want), func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: name}, w); err != nil {
			return err
		}
		if got := w.Annotations[clusterUnreachableAnnotation]; got != want {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	if w.Annotations["theirs"] != "stays" || w.Generation != 1 {
		t.Errorf("more than the mark was changed: annotations %v, generation %d", w.Annotations, w.Generation)
	}
	return w
}

var renderedLabels = map[string]string{contract.RenderedLabel: "true"}

func TestMark_followsTheAvailability(t *testing.T) {
	newCluster(t, "m1")
	newWork(t, "m1", "early", renderedLabels)
	newWork(t, "m1", "pulled", map[string]string{contract.PullLabel: "true"})
	newWork(t, "m1", "foreign", nil)
	newWork(t, "m1", "disguised", map[string]string{contract.PullLabel: "true", contract.RenderedLabel: "true"})
	_, stop := start(t)

	available(t, "m1", metav1.ConditionTrue, since.Add(-time.Hour))
	available(t, "m1", metav1.ConditionUnknown, since)
	marks(t, "m1", "early", "2026-11-21T10:00:00Z")
	newWork(t, "m1", "late", renderedLabels) // created while the cluster is unreachable
	marks(t, "m1", "late", "2026-11-21T10:00:00Z")
	for _, name := range []string{"pulled", "foreign", "disguised"} { // they would have been marked before the late one
		marks(t, "m1", name, "")
	}

	stop()
	available(t, "m1", metav1.ConditionTrue, since.Add(time.Hour)) // while the controller does not run
	_, stop = start(t)
	marks(t, "m1", "early", "")
	marks(t, "m1", "late", "")

	// Argo CD or another client may remove the mark. The controller restores it while the cluster is
	// unreachable.
	available(t, "m1", metav1.ConditionFalse, since.Add(2*time.Hour))
	marks(t, "m1", "early", "2026-11-21T12:00:00Z")
	testkit.Edit(t, hub.client, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "m1", Name: "early"}}, func(w *workv1.ManifestWork) {
		delete(w.Annotations, clusterUnreachableAnnotation)
	})
	marks(t, "m1", "early", "2026-11-21T12:00:00Z")
	stop()
}

// A restart with correct marks writes nothing. A change of an unreachable cluster that does not affect the
// mark is not written either.
func TestRestart_writesNothing(t *testing.T) {
	newCluster(t, "s1")
	newCluster(t, "s2")
	newWork(t, "s1", "away", renderedLabels)
	newWork(t, "s2", "never", renderedLabels) // its cluster has no availability condition
	available(t, "s1", metav1.ConditionUnknown, since)
	_, stop := start(t)
	marks(t, "s1", "away", "2026-11-21T10:00:00Z")
	stop()

	available(t, "s1", metav1.ConditionFalse, since.Add(time.Minute))
	writes, stop := start(t)
	newCluster(t, "s3") // proves that this run has processed its queue
	newWork(t, "s3", "probe", renderedLabels)
	available(t, "s3", metav1.ConditionUnknown, since)
	marks(t, "s3", "probe", "2026-11-21T10:00:00Z")
	stop()
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes, want the probe's one", n)
	}
	marks(t, "s1", "away", "2026-11-21T10:00:00Z")
	marks(t, "s2", "never", "")
}

// After an outage of any length, the controller retries every mark within the longest backoff.
func TestBackoff_isBoundedAfterAnOutage(t *testing.T) {
	const failures = 30 // with controller-runtime's default backoff, so many failures would take a day
	var left atomic.Int64
	left.Store(failures)
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, 20*time.Millisecond)
	startWith(t, Options{Backoff: backoff}, func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if left.Add(-1) >= 0 {
					return apierrors.NewInternalError(errors.New("etcd is away"))
				}
				return c.Patch(ctx, o, p, opts...)
			},
		})
	})
	newCluster(t, "outage")
	newWork(t, "outage", "marked", renderedLabels)
	available(t, "outage", metav1.ConditionUnknown, since)
	marks(t, "outage", "marked", since.Format(time.RFC3339))
	if n := left.Load(); n >= 0 {
		t.Errorf("marked with %d failures to come", n)
	}
}

// The default backoff is at most the documented 30 seconds.
func TestBackoff_hasTheDocumentedDefault(t *testing.T) {
	o := Options{}.withDefaults()
	var longest time.Duration
	for range 50 {
		longest = max(longest, o.Backoff.When(reconcile.Request{NamespacedName: types.NamespacedName{Name: "c"}}))
	}
	if longest != 30*time.Second {
		t.Errorf("the longest wait is %s", longest)
	}
}
