// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/index"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/pace"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

var guestbook = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}

// server has one ApplicationSet and its report. The test decides how late the cache is, which a real cache
// does not allow.
type server struct {
	client.Client
	report  v1alpha1.MulticlusterApplicationSetReport
	applied int
	refuse  error // the error of a write that succeeds nevertheless
}

func (s *server) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *v1alpha1.MulticlusterApplicationSetReport:
		s.report.DeepCopyInto(o)
	case *metav1.PartialObjectMetadata:
		if o.Kind == argocd.ApplicationSetKind {
			return nil
		}
		s.report.ObjectMeta.DeepCopyInto(&o.ObjectMeta)
	}
	return nil
}

func (s *server) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	report, ok := o.(*v1alpha1.MulticlusterApplicationSetReport)
	if !ok {
		return errors.New("not a report")
	}
	s.applied++
	report.UID = "created"
	report.DeepCopyInto(&s.report)
	return s.refuse
}

func (s *server) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	report, ok := o.(*v1alpha1.MulticlusterApplicationSetReport)
	if !ok {
		return errors.New("not a report")
	}
	s.applied++
	report.Generation = s.report.Generation + 1
	report.DeepCopyInto(&s.report)
	return s.refuse
}

// lateCache returns an old version of the report.
type lateCache struct {
	client.Reader
	report    metav1.ObjectMeta
	withoutIt bool // without the ApplicationSet
}

func (c *lateCache) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	m, ok := into.(*metav1.PartialObjectMetadata)
	if !ok {
		return errors.New("only metadata is cached")
	}
	if m.Kind == argocd.ApplicationSetKind {
		if c.withoutIt {
			return apierrors.NewNotFound(schema.GroupResource{}, "guestbook")
		}
		return nil
	}
	c.report.DeepCopyInto(&m.ObjectMeta)
	return nil
}

// bench is a reconciler with a report that is written and agrees with the index.
type bench struct {
	t      *testing.T
	server *server
	cache  *lateCache
	index  *index.Index
	*Reconciler
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, server: &server{}, index: index.New(func(types.NamespacedName) {})}
	b.index.SetCluster(status.Cluster{Name: "a", Exists: true, Available: true})
	b.feedback("Healthy")
	b.server.report.ObjectMeta = metav1.ObjectMeta{
		Namespace: guestbook.Namespace, Name: guestbook.Name, UID: "first", Generation: 1, Labels: map[string]string{contract.ReportLabel: labelFor(guestbook)},
	}
	b.cache = &lateCache{}
	pacer := pace.New(pace.Limits{})
	b.Reconciler = &Reconciler{
		cached: b.cache, live: b.server, writer: b.server, index: b.index,
		store: intermediate.NewStore(t.TempDir()), pacer: pacer, limit: 1 << 20, tracker: newTracker(), behind: boot.Backoff(),
		recorder: recorder{events: events.NewFakeRecorder(10), pacer: pacer, limit: 1 << 20},
	}
	b.cacheCatchesUp()
	b.reconcile()
	b.cacheCatchesUp()
	b.expect("the beginning", "Healthy", 1)
	return b
}

func (b *bench) feedback(health string) {
	b.t.Helper()
	b.feedbackOf("app", health)
}

func (b *bench) feedbackOf(app, health string) {
	b.t.Helper()
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: app + "-abcde", Labels: map[string]string{contract.PullLabel: "true", contract.ApplicationSetLabel: "true"},
		Annotations: map[string]string{contract.HostingAnnotation: guestbook.String(), contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: app},
	}}
	w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue}}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Namespace: "argocd", Name: app},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{
			{Name: contract.FeedbackHealthStatus, Value: workv1.FieldValue{Type: workv1.String, String: &health}},
			{Name: contract.FeedbackSyncStatus, Value: workv1.FieldValue{Type: workv1.String, String: ptr.To("Synced")}},
		}},
	}}
	compact, err := index.Compact(w)
	if work, ok := compact.(*manifestcache.Work); err == nil && ok {
		b.index.SetWork(work)
	} else {
		b.t.Fatal(err)
	}
}

func (b *bench) cacheCatchesUp() { b.cache.report = *b.server.report.ObjectMeta.DeepCopy() }

func (b *bench) reconcile() reconcile.Result {
	b.t.Helper()
	result, err := b.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: guestbook})
	if err != nil && b.server.refuse == nil {
		b.t.Fatal(err)
	}
	return result
}

func (b *bench) expect(why, health string, writes int) {
	b.t.Helper()
	rows := b.server.report.Statuses.ClusterConditions
	if len(rows) != 1 || rows[0].HealthStatus != health || b.server.applied != writes {
		b.t.Errorf("%s: rows %+v after %d writes, want one that is %s after %d", why, rows, b.server.applied, health, writes)
	}
}

// If the response is lost, the write may have succeeded.
func TestReconcile_failedUpdateIsWrittenAgain(t *testing.T) {
	for name, refuse := range map[string]error{
		"timeout":  apierrors.NewTimeoutError("lost", 1),
		"conflict": apierrors.NewConflict(schema.GroupResource{}, "guestbook", nil),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.feedback("Degraded")
			b.server.refuse = refuse
			b.reconcile()
			b.feedback("Healthy") // before the cache has the previous write
			b.server.refuse = nil
			b.reconcile()
			b.expect("the report that was written all the same is not taken for the one before", "Healthy", 3)
		})
	}
}

// After an interrupted watch, the cache reports a re-created report as an update of the old one.
func TestReconcile_readsRecreatedReport(t *testing.T) {
	b := newBench(t)
	b.server.report.UID = "second"
	b.server.report.Statuses.ClusterConditions[0].HealthStatus = "Missing"
	b.cacheCatchesUp() // with the same generation
	b.reconcile()
	b.expect("what another report says is not what the first one said", "Healthy", 2)
}

// The watch may report the deletion of a report before an earlier write returns.
func TestReconcile_doesNotCacheDeletedReport(t *testing.T) {
	tr := newTracker()
	report := func(uid types.UID) *storedReport {
		return &storedReport{meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}}}
	}
	tr.keep(guestbook, report("one"))
	tr.recordDeletion(guestbook, "one")
	tr.keep(guestbook, report("one"))
	if tr.known(guestbook) != nil {
		t.Error("a report is known that is deleted")
	}
	tr.keep(guestbook, report("two"))
	tr.recordDeletion(guestbook, "one")
	if tr.known(guestbook) == nil {
		t.Error("the report that took its place is not known")
	}
	tr.recordDeletion(guestbook, "two")
	if tr.known(guestbook) != nil {
		t.Error("a report is known after its deletion")
	}
}

// While the cache is behind the API server, the reconciler waits longer after each try, up to 30 seconds.
func TestReconcile_backsOffWhileCacheIsBehind(t *testing.T) {
	b := newBench(t)
	b.cache.withoutIt = true
	const most = 30 * time.Second
	var last, all time.Duration
	for range 25 {
		wait := b.reconcile().RequeueAfter
		if wait < last || wait <= 0 || wait > most {
			t.Fatalf("waits %s after %s, want longer and at most %s", wait, last, most)
		}
		last, all = wait, all+wait
	}
	if last != most || all < 5*time.Minute {
		t.Errorf("25 tries take %s, the last wait is %s; want it to reach %s", all, last, most)
	}
	b.cache.withoutIt = false
	b.reconcile()
	b.cache.withoutIt = true
	if wait := b.reconcile().RequeueAfter; wait > time.Second {
		t.Errorf("after a success the first wait is %s", wait)
	}
}

// After an outage of any length, no report waits longer than 30 seconds.
func TestControllerOptions_boundRetries(t *testing.T) {
	limiter := controllerOptions().RateLimiter
	if limiter == nil {
		t.Fatal("controller-runtime's own rate limiter waits up to 1000 seconds")
	}
	var longest time.Duration
	for range 50 {
		longest = max(longest, limiter.When(reconcile.Request{NamespacedName: guestbook}))
	}
	if longest != 30*time.Second {
		t.Errorf("the longest wait is %s", longest)
	}
}

// Aggregation removes resources that another client wrote into a report while it did not run.
func TestReconcile_removesResourcesOfAnotherClient(t *testing.T) {
	b := newBench(t)
	b.tracker = newTracker() // as after a restart
	b.server.report.Statuses.Resources = []v1alpha1.ResourceRef{{APIVersion: "v1", Kind: "Pod", Name: "made-up"}}
	b.reconcile()
	b.expect("a stranger's resources are mended", "Healthy", 2)
	if got := b.server.report.Statuses.Resources; len(got) > 0 {
		t.Errorf("resources %v", got)
	}
}
