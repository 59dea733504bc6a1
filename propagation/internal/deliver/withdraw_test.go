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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// finalized adds the agent's finalizer to a work and reports the work as applied. Its deletion then waits for
// the agent.
func finalized(t *testing.T, work *workv1.ManifestWork) {
	t.Helper()
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
	applyWell(t, work)
}

func pruned(t *testing.T, work *workv1.ManifestWork) {
	t.Helper()
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = nil })
}

func TestRemoval_followsEachCause(t *testing.T) {
	start(t)
	cases := map[string]func(*testing.T, *place, *argocd.Application){
		"deleted": func(t *testing.T, _ *place, a *argocd.Application) { remove(t, a) },
		"unlabelled": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { delete(a.Labels, contract.PullLabel) })
		},
		"turnedOff": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "false" })
		},
		"noAnnotation": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { delete(a.Annotations, contract.ClusterAnnotation) })
		},
		"bothGone": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { a.Labels, a.Annotations = nil, nil })
		},
		"unbound": func(_ *testing.T, p *place, _ *argocd.Application) { p.bind() },
		"decisionDeleted": func(t *testing.T, p *place, _ *argocd.Application) {
			remove(t, &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "decision"}})
		},
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			app := p.deploy("guestbook")
			delivered(t, app, p.cluster)
			act(t, p, app)
			withdrawn(t, app)
		})
	}
}

func TestBinding_deliversAgainOnceRestored(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	p.bind()
	withdrawn(t, app)
	awaitCondition(t, app, policy.ErrorCondition, "no PlacementDecision")
	p.bind("another", p.cluster)
	delivered(t, app, p.cluster)
	awaitCondition(t, app, policy.ErrorCondition, "")
}

func TestBinding_isNotNeededWithNone(t *testing.T) {
	start(t, func(o *Options) { o.Binding = BindingNone })
	p := newPlace(t)
	p.bind()
	delivered(t, p.deploy("guestbook"), p.cluster)
}

// propagation creates the new copy before it deletes the old one. It releases the Application after both are
// gone.
func TestMove_createsTheNewWorkFirst(t *testing.T) {
	start(t)
	p := newPlace(t)
	other := newCluster(t)
	p.bind(p.cluster, other)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	old := delivered(t, app, p.cluster)
	finalized(t, old)
	applying(t, other)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	testkit.Eventually(t, "both works", func() error {
		own := works(t, app)
		if len(own) != 2 {
			return errors.New("not two")
		}
		for i := range own {
			if (own[i].DeletionTimestamp != nil) != (own[i].Namespace == p.cluster) {
				return errors.New("the old one is to go, the new one to stay")
			}
		}
		return nil
	})
	remove(t, app)
	awaitCondition(t, app, policy.WarningCondition, p.cluster)
	pruned(t, old)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
	withdrawn(t, app)
}

func TestRemoval_continuesAfterADowntime(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	other := newCluster(t)
	p.bind(p.cluster, other)
	deleted, moved, unlabelled := p.deploy("deleted"), p.deploy("moved"), p.deploy("unlabelled")
	for _, app := range []*argocd.Application{deleted, moved, unlabelled} {
		delivered(t, app, p.cluster)
	}
	first.stop()
	remove(t, deleted)
	edit(t, moved, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	edit(t, unlabelled, func(a *argocd.Application) { a.Labels = nil })
	applying(t, other)
	start(t)
	withdrawn(t, deleted)
	withdrawn(t, unlabelled)
	delivered(t, moved, other)
}

func TestRelease_followsTheDeletionOfTheCluster(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer, "example.com/own"} })
	finalized(t, delivered(t, app, p.cluster))
	remove(t, app)
	awaitCondition(t, app, policy.WarningCondition, "not deleted yet")
	remove(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: p.cluster}})
	testkit.Eventually(t, "only the foreign finalizer", func() error {
		stored := &argocd.Application{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
			return err
		}
		if len(stored.Finalizers) != 1 || stored.Finalizers[0] != "example.com/own" {
			return errors.New(strings.Join(stored.Finalizers, ","))
		}
		return nil
	})
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
}

func TestAbandon_releasesTheApplication(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer + "/background"} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	available(t, p.cluster, metav1.ConditionUnknown, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	remove(t, app)
	awaitCondition(t, app, policy.WarningCondition, contract.DeletionPolicyAnnotation)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.DeletionPolicyAnnotation] = "abandon" })
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
	testkit.Eventually(t, "the Event", func() error { return recorded(app, "confirmed the prune; the delivered Application may be left there") })
	if err := recorded(app, "ManifestWorks: "+p.cluster+"/"+work.Name); err != nil {
		t.Error(err)
	}
	if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp == nil {
		t.Fatalf("its ManifestWork does not wait for the cluster: %d", len(own))
	}
	pruned(t, work) // the cluster has returned
	withdrawn(t, app)
}

// propagation releases a deleted Application after its removal, because the hub's own Argo CD skips the
// Application.
func TestRelease_followsTheRemoval(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	delivered(t, app, p.cluster)
	edit(t, app, func(a *argocd.Application) { delete(a.Labels, contract.PullLabel) })
	withdrawn(t, app)
	remove(t, app)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

// propagation removes only Argo CD's finalizers. Other writers remove their own finalizers.
func TestRelease_removesOnlyFinalizersOfArgoCD(t *testing.T) {
	const others = "hub.example.com/guard"
	start(t)
	p := newPlace(t)
	app := p.deploy("guarded", func(a *argocd.Application) {
		a.Finalizers = []string{argocd.ResourcesFinalizer, others, argocd.BackgroundFinalizer, argocd.PostDeleteFinalizer, argocd.PostDeleteCleanupFinalizer}
	})
	delivered(t, app, p.cluster)
	remove(t, app)
	testkit.Eventually(t, "the release", func() error {
		stored := &argocd.Application{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
			t.Fatalf("get Application: %v", err)
		}
		if !slices.Equal(stored.Finalizers, []string{others}) {
			return fmt.Errorf("finalizers %v", stored.Finalizers)
		}
		return nil
	})
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
	withdrawn(t, app)
}

// An Application that was never pulled keeps its finalizer.
func TestRelease_ignoresApplicationsThatAreNotPulled(t *testing.T) {
	start(t)
	p := newPlace(t)
	other := p.deploy("hubs-own", func(a *argocd.Application) {
		a.Labels, a.Annotations, a.Finalizers = nil, nil, []string{argocd.ResourcesFinalizer}
	})
	remove(t, other)
	delivered(t, p.deploy("guestbook"), p.cluster) // by then the other one was reconciled
	if err := gone(other); err == nil {
		t.Error("an Application that is not pulled was released")
	}
	edit(t, other, func(a *argocd.Application) { a.Finalizers = nil })
}

// If an object cannot be read, propagation does not treat it as deleted. It removes nothing while the API
// server returns errors, and continues after that.
func TestRemoval_waitsWhileReadsFail(t *testing.T) {
	var failing atomic.Bool
	asked := make(chan struct{}, 1000)
	startReading(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if failing.Load() {
					asked <- struct{}{}
					return errors.New("no answer")
				}
				return c.Get(ctx, key, o, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				if failing.Load() {
					return errors.New("no answer")
				}
				return c.List(ctx, l, opts...)
			},
		})
	})
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	failing.Store(true)
	remove(t, app)
	for range 3 {
		<-asked // propagation tries, and retries
	}
	if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp != nil {
		t.Fatal("it was withdrawn although nobody could say that its Application is gone")
	}
	failing.Store(false)
	withdrawn(t, app)
}
