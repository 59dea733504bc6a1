// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A work ends according to its state in the API server, not according to an older state in the cache.
func TestStaleCache_doesNotDecideTheEnding(t *testing.T) {
	p := newPlace(t)
	frozen := newFreezer("manifestworks")
	startFrozen(t, frozen)
	app := p.deploy("changed")
	work := delivered(t, app, p.cluster)
	awaitCondition(t, p.deploy("seen", func(a *argocd.Application) { delete(a.Annotations, argocd.SkipReconcileAnnotation) }), policy.WarningCondition, "skip-reconcile")
	frozen.freeze()
	edit(t, work, func(w *workv1.ManifestWork) {
		w.Annotations["example.com/theirs"], w.Finalizers = "new", []string{workv1.ManifestWorkFinalizer}
	})
	remove(t, app)
	testkit.Eventually(t, "the work to say how it ends", func() error {
		if live := stored(t, work); live == nil || !strings.Contains(applicationIn(live), "end-without-cascade") {
			return errors.New("not yet")
		}
		return nil
	})
	applyWell(t, work)
	frozen.thaw()
	appliedBeforeItsEnd(t, work)
}

// An outdated cache of PlacementDecisions removes nothing, because the API server does not confirm the
// removal.
func TestStaleCache_removesNothing(t *testing.T) {
	// Only objects of this test are outdated. Otherwise the deletion budget would hold everything.
	for name, stale := range map[string]func(*place, client.Object, client.ObjectList) error{
		"decisions": func(p *place, _ client.Object, list client.ObjectList) error {
			if decisions, ok := list.(*clusterv1beta1.PlacementDecisionList); ok {
				decisions.Items = slices.DeleteFunc(slices.Clone(decisions.Items), func(d clusterv1beta1.PlacementDecision) bool {
					return d.Namespace == p.namespace // as before their creation
				})
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			first := start(t)
			app := p.deploy("guestbook")
			work := delivered(t, app, p.cluster)
			first.stop()
			var old atomic.Bool
			old.Store(true)
			var reads atomic.Int64
			running := startBetween(t, func(c client.Client) client.Client {
				return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						err := c.Get(ctx, key, o, opts...)
						if err == nil && old.Load() {
							err = stale(p, o, nil)
						}
						return err
					},
					List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
						err := c.List(ctx, l, opts...)
						if err == nil && old.Load() {
							err = stale(p, nil, l)
						}
						return err
					},
				})
			}, func(c client.Client) client.Client {
				return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						if key == client.ObjectKeyFromObject(app) {
							reads.Add(1)
						}
						return c.Get(ctx, key, o, opts...)
					},
				})
			})
			testkit.Eventually(t, "it to look twice", func() error {
				if own := works(t, app); len(own) != 1 || own[0].UID != work.UID || own[0].DeletionTimestamp != nil {
					t.Fatal("a stale cache has cost the copy")
				}
				if reads.Load() < 2 {
					return errors.New("not yet")
				}
				return nil
			})
			old.Store(false)
			edit(t, app, func(a *argocd.Application) { a.Labels["wake"] = "up" })
			testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"wake":"up"`) })
			for _, request := range running.requests.in(p.cluster) {
				if strings.HasPrefix(request, "DELETE") {
					t.Errorf("propagation sent %s", request)
				}
			}
		})
	}
}

// propagation does not release an Application while the API server has a work that the cache does not have
// yet.
func TestStaleCache_delaysTheRelease(t *testing.T) {
	p := newPlace(t)
	frozen := newFreezer("manifestworks")
	startFrozen(t, frozen)
	frozen.freeze()
	app := p.deploy("unseen", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	remove(t, app)
	testkit.Eventually(t, "the wait to be said", func() error {
		if gone(app) == nil {
			t.Fatal("it was released while its work is there")
		}
		if !strings.Contains(storedConditions(t, app)[policy.WarningCondition], "not deleted yet: waiting for cluster") {
			return errors.New("not yet")
		}
		return nil
	})
	frozen.thaw()
	testkit.Eventually(t, "the withdrawal", func() error {
		if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp == nil {
			return errors.New("it is still alive")
		}
		return nil
	})
	pruned(t, work)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

// propagation does not delete a work for a target that the user has already reverted.
func TestStaleCache_removesNothingForARevertedTarget(t *testing.T) {
	p := newPlace(t)
	other := newCluster(t)
	p.bind(p.cluster, other)
	var hold atomic.Bool
	var looks atomic.Int64
	frozen := newFreezer("applications")
	running := startAll(t, setting{frozen: frozen, wrap: func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if o.GetNamespace() == other && hold.Load() {
					return errors.New("not now")
				}
				return c.Create(ctx, o, opts...)
			},
		})
	}, wrapLive: func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if key == (client.ObjectKey{Namespace: p.namespace, Name: "back"}) {
					looks.Add(1)
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
	}})
	app := p.deploy("back")
	work := delivered(t, app, p.cluster)
	applying(t, p.cluster)
	applying(t, other)
	hold.Store(true)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	// The cache has the new target once propagation tries the move. It receives nothing later.
	seen := p.deploy("seen")
	delivered(t, seen, p.cluster)
	frozen.freeze()
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = p.cluster })
	hold.Store(false)
	testkit.Eventually(t, "the copy on the other cluster", func() error {
		for _, request := range running.requests.in(other) {
			if strings.HasPrefix(request, "POST") {
				return nil
			}
		}
		return errors.New("not there")
	})
	testkit.Eventually(t, "two looks at the Application", func() error {
		if !slices.ContainsFunc(works(t, app), func(w workv1.ManifestWork) bool { return w.UID == work.UID && w.DeletionTimestamp == nil }) {
			t.Fatal("the copy on the target was withdrawn")
		}
		if looks.Load() < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	frozen.thaw()
	if after := delivered(t, app, p.cluster); after.UID != work.UID {
		t.Error("the copy on the target was replaced")
	}
	for _, request := range running.requests.in(p.cluster) {
		if strings.HasPrefix(request, "DELETE") {
			t.Errorf("propagation sent %s", request)
		}
	}
}

// If a work was deleted a moment ago, the failed patch is not reported. propagation creates a new work.
func TestStaleCache_reportsNoPatchOfADeletedWork(t *testing.T) {
	p := newPlace(t)
	frozen := newFreezer("manifestworks")
	running := startFrozen(t, frozen)
	app := p.deploy("deleted")
	work := delivered(t, app, p.cluster)
	edit(t, app, func(a *argocd.Application) { a.Labels["seen"] = "yes" })
	testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"seen":"yes"`) })
	frozen.freeze()
	remove(t, work)
	edit(t, app, func(a *argocd.Application) { a.Labels["wake"] = "up" })
	testkit.Eventually(t, "two patches of what is gone", func() error {
		n := 0
		for _, request := range running.requests.in(p.cluster) {
			if strings.HasPrefix(request, "PATCH") {
				n++
			}
		}
		if n < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if message := storedConditions(t, app)[policy.ErrorCondition]; message != "" {
		t.Errorf("it says %q", message)
	}
	frozen.thaw()
	testkit.Eventually(t, "the new work", func() error { return carries(t, app, `"wake":"up"`) })
}

// Works of rendered mode belong to the hub's Argo CD. propagation never writes or deletes them, whatever
// labels and annotations they have. Some works of the test claim to carry an existing or missing Application,
// and one delivers an Application of that name.
func TestRendered_staysUnchanged(t *testing.T) {
	p := newPlace(t)
	app := p.app("payments")
	manifest := fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":%q,"name":"payments"},"spec":{}}`, p.namespace)
	claims := func(name string) map[string]string {
		return map[string]string{contract.HubNamespaceAnnotation: p.namespace, contract.HubNameAnnotation: name, contract.HostingAnnotation: p.namespace + "/set"}
	}
	theirs := map[string]*workv1.ManifestWork{
		"plain":     {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RenderedApplicationAnnotation: "payments"}}},
		"orphan":    {ObjectMeta: metav1.ObjectMeta{Annotations: claims("nobody")}},
		"candidate": {ObjectMeta: metav1.ObjectMeta{Annotations: claims("payments")}},
		"no boolean": {ObjectMeta: metav1.ObjectMeta{
			Annotations: claims("nobody"), Labels: map[string]string{contract.PullLabel: "false", contract.ApplicationSetLabel: "true"},
		}},
		"double": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RenderedApplicationAnnotation: "payments"}},
			Spec:       workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}}},
		},
	}
	for name, w := range theirs {
		w.Namespace, w.Name = p.cluster, "rendered-"+strings.ReplaceAll(name, " ", "-")
		metav1.SetMetaDataLabel(&w.ObjectMeta, contract.RenderedLabel, "true")
		p.create(w)
	}
	running := start(t, func(o *Options) { o.sweepInterval = 10 * time.Millisecond })
	p.create(app)
	own := func() (names []string) {
		for _, w := range works(t, app) {
			if w.Labels[contract.RenderedLabel] == "" {
				names = append(names, w.Name)
			}
		}
		return names
	}
	testkit.Eventually(t, "the delivery", func() error {
		if n := len(own()); n != 1 {
			return fmt.Errorf("%d works, conditions %v", n, storedConditions(t, app))
		}
		return nil
	})
	remove(t, app)
	testkit.Eventually(t, "the withdrawal", func() error {
		if left := own(); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
	// By the end of this second delivery, the sweep has run many times.
	second := p.deploy("second")
	delivered(t, second, p.cluster)
	remove(t, second)
	withdrawn(t, second)

	for _, request := range running.requests.in(p.cluster) {
		if strings.Contains(request, "/rendered-") {
			t.Errorf("propagation sent %s", request)
		}
	}
	for name, before := range theirs {
		after := &workv1.ManifestWork{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(before), after); err != nil {
			t.Fatal(err)
		}
		if after.ResourceVersion != before.ResourceVersion || after.DeletionTimestamp != nil {
			t.Errorf("%s: the work of rendered mode was changed: %+v", name, after.ObjectMeta)
		}
	}
}
