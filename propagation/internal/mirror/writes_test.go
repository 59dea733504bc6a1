// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

var errInjected = errors.New("injected")

// failing makes the first reads, lists and patches fail.
func failing(err error, times int64) func(client.WithWatch) client.Client {
	var gets, lists, patches atomic.Int64
	for _, n := range []*atomic.Int64{&gets, &lists, &patches} {
		n.Store(times)
	}
	return func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if gets.Add(-1) >= 0 {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if lists.Add(-1) >= 0 {
					return err
				}
				return c.List(ctx, l, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if patches.Add(-1) >= 0 {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
		})
	}
}

func TestRetry_repeatsEveryFailedWrite(t *testing.T) {
	applications := schema.GroupResource{Group: argocd.Group, Resource: argocd.ApplicationPlural}
	for kind, err := range map[string]error{
		"any":       errInjected,
		"conflict":  apierrors.NewConflict(applications, "x", errInjected),
		"throttled": apierrors.NewTooManyRequests("slow down", 1),
		"forbidden": apierrors.NewForbidden(applications, "x", errInjected),
	} {
		t.Run(kind, func(t *testing.T) {
			f := newFleet(t)
			start(t, Options{}, failing(err, 3))
			cluster := f.cluster()
			app := f.app("guestbook", cluster.Name)
			report(t, f.work(app, cluster.Name), healthy...)
			awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
		})
	}
}

func noWorks(types.NamespacedName) ([]*manifestcache.Work, error) { return nil, nil }

// stub returns one Application for every read.
func stub(app *argocd.Application, patched error) client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if into, ok := o.(*argocd.Application); ok {
				app.DeepCopyInto(into)
			}
			return nil
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return patched
		},
	})
}

// Each outcome of a patch has one result for the queue.
func TestReconcile_returnsTheOutcomeOfThePatch(t *testing.T) {
	applications := schema.GroupResource{Group: argocd.Group, Resource: argocd.ApplicationPlural}
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "a", ResourceVersion: "1", Labels: map[string]string{"apps.open-cluster-management.io/pull-to-ocm-managed-cluster": "true"},
		Annotations: map[string]string{"apps.open-cluster-management.io/ocm-managed-cluster": "c1", argocd.SkipReconcileAnnotation: "true"},
	}}
	broken := app.DeepCopy()
	broken.Status = json.RawMessage(`"broken"`)
	cases := map[string]struct {
		reason  string
		app     *argocd.Application
		patched error
		after   time.Duration
		err     error
		final   bool
	}{
		"written":   {reason: "nothing is left to do", app: app},
		"gone":      {reason: "an Application that went meanwhile is no error", app: app, patched: apierrors.NewNotFound(applications, "a")},
		"conflict":  {reason: "a race is no error, but looked at again", app: app, patched: apierrors.NewConflict(applications, "a", errInjected), after: boot.ConflictDelay},
		"refused":   {reason: "anything else is an error with backoff", app: app, patched: errInjected, err: errInjected},
		"malformed": {reason: "a status that is no status is left to a person", app: broken, err: appstatus.ErrMalformed, final: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{client: stub(c.app, c.patched), works: noWorks, now: time.Now}
			result, err := r.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "argocd", Name: "a"}})
			if !errors.Is(err, c.err) || (c.err == nil) != (err == nil) || result.RequeueAfter != c.after {
				t.Errorf("%s: got %v, %v", c.reason, result, err)
			}
			if errors.Is(err, reconcile.TerminalError(nil)) != c.final {
				t.Errorf("%s: final is %t", c.reason, !c.final)
			}
		})
	}
}

// The cache is behind: it keeps no spec of an Application without label, and another Application has its name now.
// That is no error, but checked again.
func TestReconcile_waitsForACacheThatIsBehind(t *testing.T) {
	cached := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "a", UID: "old", Annotations: map[string]string{argocd.SkipReconcileAnnotation: "true"},
	}}
	now := cached.DeepCopy()
	now.UID = "new"
	key := client.ObjectKeyFromObject(cached)
	r := &Reconciler{client: stub(cached, nil), live: stub(now, nil), works: noWorks, now: time.Now}
	r.memory.setSource(key, "work")
	seen := time.Now()
	r.memory.returnFeedback(key, seen)
	if result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || result.RequeueAfter != boot.ConflictDelay {
		t.Errorf("got %v, %v", result, err)
	}
	if got := r.memory.takeFeedback(key); !got.Equal(seen) {
		t.Errorf("its feedback was received at %s, want %s", got, seen)
	}
}

// A start writes nothing to an unchanged hub. A burst needs one write for each change.
func TestWrite_happensOnceForEachChange(t *testing.T) {
	const size = 200
	f := newFleet(t)
	cluster := f.cluster().Name
	apps := make([]*argocd.Application, size)
	works := make([]*workv1.ManifestWork, size)
	for i := range apps {
		apps[i] = f.app(fmt.Sprintf("app-%d", i), cluster)
		works[i] = f.work(apps[i], cluster)
	}
	writes, stop := start(t, Options{}, nil)
	for _, app := range apps {
		awaitStatus(t, app, "Unknown/Unknown@")
	}
	if n := writes.Swap(0); n != size {
		t.Errorf("%d writes for %d first statuses", n, size)
	}
	for _, work := range works {
		report(t, work, healthy...)
	}
	for _, app := range apps {
		awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	}
	// A conflict needs one more write, because the cache may be behind the last write.
	if n := writes.Load(); n < size || n > size+size/10 {
		t.Errorf("%d writes for %d changes", n, size)
	}
	stop()

	writes, _ = start(t, Options{}, nil)
	probe := f.app("probe", cluster)
	awaitStatus(t, probe, "Unknown/Unknown@")
	report(t, f.work(probe, cluster), healthy...)
	awaitStatus(t, probe, "Healthy/Synced@53e28ff2 Succeeded")
	if n := writes.Load(); n > 3 {
		t.Errorf("a settled hub was written to: %d requests where the probe needs 2", n)
	}
}
