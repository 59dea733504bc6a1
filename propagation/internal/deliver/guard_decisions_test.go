// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Undo reverts a removal: propagation releases the deleted Applications and keeps their works. Re-created
// Applications adopt the works, and only the owner of a ManifestWork changes.
func TestBudget_revertsARemovalOnUndo(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)))
	g := generate(t, argocd.ResourcesFinalizer)
	generation := works(t, g.apps[0])[0].Generation
	g.remove(g.apps...)
	g.awaitHeld("ApplicationSet")
	g.decide(namespace(g.namespace), "undo")
	for i, app := range g.apps {
		testkit.Eventually(t, app.Name+" to be gone", func() error { return gone(app) })
		g.apps[i] = g.deploy(app.Name, g.owned, func(a *argocd.Application) { a.Finalizers = app.Finalizers })
	}
	for _, app := range g.apps {
		testkit.Eventually(t, app.Name+" to take over its work", func() error {
			if own := works(t, app); len(own) != 1 || own[0].Annotations[contract.HubUIDAnnotation] != string(app.UID) {
				return fmt.Errorf("it has %d", len(own))
			}
			return nil
		})
		awaitCondition(t, app, policy.WarningCondition, "")
	}
	g.kept()
	if now := works(t, g.apps[0])[0].Generation; now != generation {
		t.Errorf("its work's spec was written: generation %d became %d", generation, now)
	}
	testkit.Eventually(t, "the metric to go", func() error {
		if n := gauge(t, g.namespace); n > 0 {
			return fmt.Errorf("%v are held", n)
		}
		return nil
	})
}

// A hold survives restarts, and nothing is removed, reported or written again. Deletions while propagation
// was down count together.
func TestBudget_keepsAHoldOverRestarts(t *testing.T) {
	on := withBudget(newHubNamespace(t))
	first := start(t, on)
	g := generate(t, argocd.ResourcesFinalizer)
	first.stop()
	g.remove(g.apps...)
	second := start(t, on)
	g.awaitHeld("ApplicationSet")
	awaitCondition(t, g.apps[many-1], policy.WarningCondition, " of 12 ")
	for _, app := range g.apps {
		awaitCondition(t, app, policy.WarningCondition, "withdrawal held")
	}
	second.stop()
	third := start(t, on)
	bystander := g.deploy("bystander") // after its delivery the others have been reconciled
	delivered(t, bystander, g.cluster)
	testkit.Eventually(t, "the hold to be taken up", func() error {
		if n := gauge(t, g.namespace); n != many {
			return fmt.Errorf("%v are held", n)
		}
		return nil
	})
	another(t)
	g.kept()
	if n, _ := heldEvents(t, "ApplicationSet", g.namespace, policy.ReasonWithdrawalHeld); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	for _, request := range third.requests.in(g.namespace, g.cluster) {
		if !strings.Contains(request, "bystander") && !strings.HasSuffix(request, "/namespaces/"+g.cluster+"/manifestworks") {
			t.Errorf("a held fleet was written to: %s", request)
		}
	}
}

// Reconciles of held Applications write nothing.
func TestBudget_writesNothingForHeldApplications(t *testing.T) {
	hubNamespace := newHubNamespace(t)
	p := start(t, withBudget(hubNamespace))
	g := generate(t, argocd.ResourcesFinalizer)
	g.remove(g.apps...)
	g.awaitHeld("ApplicationSet")
	for _, app := range g.apps {
		awaitCondition(t, app, policy.WarningCondition, "withdrawal held")
	}
	before := len(p.requests.in(g.namespace, g.cluster, hubNamespace))
	for i := range 5 {
		for _, app := range g.apps {
			edit(t, app, func(a *argocd.Application) { a.Labels["again"] = fmt.Sprint("no", i) })
		}
	}
	delivered(t, g.deploy("last"), g.cluster) // reconciled after all of them
	for _, request := range p.requests.in(g.namespace, g.cluster, hubNamespace)[before:] {
		if request != "POST /apis/work.open-cluster-management.io/v1/namespaces/"+g.cluster+"/manifestworks" {
			t.Errorf("the held fleet was written to: %s", request)
		}
	}
}

// A few removals within the limit are allowed, and further ones are held.
func TestBudget_allowsAFewRemovals(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)))
	g := generate(t)
	g.remove(g.apps[:2]...)
	g.awaitLeft(many - 2)
	remove(t, g.apps[2])
	remove(t, g.apps[3])
	testkit.Eventually(t, "the hold of what is more than a quarter of twelve", func() error { return told(t, "ApplicationSet", g.namespace) })
	g.awaitLeft(many - 2)
}

// An approval in advance holds nothing. A hold applies even to one removal. An invalid value holds, and an
// Event reports it.
func TestBudget_followsOverrides(t *testing.T) {
	hubNamespace := newHubNamespace(t)
	start(t, withBudget(hubNamespace))
	t.Run("ahead", func(t *testing.T) {
		g := generate(t)
		g.decide(g.set, "approve")
		g.remove(g.apps...)
		g.awaitLeft(0)
		if n, _ := heldEvents(t, "ApplicationSet", g.namespace, policy.ReasonWithdrawalHeld); n > 0 {
			t.Error("what was approved was told of")
		}
	})
	t.Run("badValue", func(t *testing.T) {
		g := generate(t, argocd.ResourcesFinalizer)
		annotate(t, namespace(g.namespace), "yes, please")
		testkit.Eventually(t, "the Event", func() error {
			if _, note := heldEvents(t, "Namespace", g.namespace, policy.ReasonInvalidTarget); !strings.Contains(note, `want "approve until <time>"`) {
				return fmt.Errorf("it says %q", note)
			}
			return nil
		})
		remove(t, g.apps[0])
		awaitCondition(t, g.apps[0], policy.WarningCondition, "has an invalid value")
		g.kept()
		annotate(t, namespace(g.namespace), nil)
		g.awaitLeft(many - 1)
	})
	t.Run("wholeHub", func(t *testing.T) { // last, since it holds everything
		g := generate(t, argocd.ResourcesFinalizer)
		g.decide(g.set, "approve")
		g.decide(namespace(hubNamespace), "hold")
		remove(t, g.apps[0])
		awaitCondition(t, g.apps[0], policy.WarningCondition, "of Namespace "+hubNamespace+": hold until")
		g.kept()
		g.decide(namespace(hubNamespace), "")
		g.awaitLeft(many - 1)
	})
}

// The budget does not count abandoned Applications, nor works that OCM removes itself. A missing
// ManagedCluster removes nothing, because a restore may still create it.
func TestBudget_countsNoAbandonedOrLeavingWorks(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)))
	leave := func(g *generated, finalizers ...string) {
		cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: g.cluster}}
		edit(t, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = finalizers })
		remove(t, cluster)
	}
	t.Run("abandoned", func(t *testing.T) {
		g := generate(t, argocd.ResourcesFinalizer)
		g.each(many, func(a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { a.Annotations[contract.DeletionPolicyAnnotation] = "abandon" })
			remove(t, a)
		})
		g.awaitLeft(0)
	})
	t.Run("leaving", func(t *testing.T) {
		g := generate(t)
		leave(g, "example.com/leaving")
		g.awaitLeft(0)
		edit(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: g.cluster}}, func(c *clusterv1.ManagedCluster) { c.Finalizers = nil })
	})
	t.Run("notThere", func(t *testing.T) { // it may not have been restored yet
		g := generate(t)
		leave(g)
		awaitCondition(t, g.apps[0], policy.ErrorCondition, "there is no ManagedCluster")
		g.kept()
	})
}

// If the budget cannot store a decision, it allows no removal. Otherwise two leaders could remove twice the
// limit.
func TestBudget_needsItsMemory(t *testing.T) {
	var failing atomic.Bool
	failing.Store(true)
	asked := make(chan struct{}, 1000)
	hubNamespace := newHubNamespace(t)
	startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, is := o.(*corev1.ConfigMap); is && failing.Load() {
					select {
					case asked <- struct{}{}:
					default:
					}
					return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, o.GetName(), errors.New("no role"))
				}
				return c.Create(ctx, o, opts...)
			},
		})
	}, withBudget(hubNamespace))
	g := generate(t, argocd.ResourcesFinalizer)
	remove(t, g.apps[0])
	testkit.Eventually(t, "it to try, and to try again", func() error {
		if n := len(asked); n < 2 {
			return fmt.Errorf("it tried %d times; %d works are left", n, g.left())
		}
		return nil
	})
	awaitCondition(t, g.apps[0], policy.WarningCondition, "ConfigMap "+hubNamespace+"/multicluster-integrations-deletion-budget (Forbidden)")
	if n := sum(t, "propagation_deletion_budget_blocked"); n != 1 {
		t.Errorf("the metric is %v", n)
	}
	g.kept()
	failing.Store(false)
	g.awaitLeft(many - 1)
	testkit.Eventually(t, "the metric to say so", func() error {
		if n := sum(t, "propagation_deletion_budget_blocked"); n != 0 {
			return fmt.Errorf("it is %v", n)
		}
		return nil
	})
}

// An allowed removal stays allowed after a restart, because its agent may need a long time.
func TestBudget_keepsAllowedRemovalsOverARestart(t *testing.T) {
	on := withBudget(newHubNamespace(t))
	first := start(t, on)
	g := generate(t)
	for _, app := range g.apps[:3] {
		edit(t, delivered(t, app, g.cluster), func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
	}
	g.remove(g.apps[:3]...)
	for _, app := range g.apps[:3] {
		testkit.Eventually(t, "the work of "+app.Name+" to say how it ends", func() error {
			return carries(t, app, "end-without-cascade")
		})
	}
	first.stop()
	start(t, on)
	another(t)
	applying(t, g.cluster)
	for _, app := range g.apps[:3] {
		withdrawn(t, app)
	}
	g.awaitLeft(many - 3)
}

// Held removals of a tenant do not hold removals after a lost permission.
func TestBudget_holdsNoLostPermissionsForATenant(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)))
	g := generate(t)
	other := newCluster(t)
	g.bind(g.cluster, other)
	revoked := g.deploy("revoked", g.owned, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	delivered(t, revoked, other)
	g.remove(g.apps[:6]...)
	g.awaitHeld("ApplicationSet")
	g.bind(g.cluster)
	withdrawn(t, revoked)
	g.kept()
}

// A hold of the hub ends for the remaining removals once the other Applications are restored. At most as
// many remain as each group may lose.
func TestBudget_endsTheHoldOfTheHubForTheRest(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)), func(o *Options) {
		o.Withdrawals.Group, o.Withdrawals.Hub, o.Withdrawals.Window = limit.Limit{Percent: 99, Least: 2}, limit.Limit{Percent: 30, Least: 0}, 20*time.Second
	})
	mistaken, innocent := generate(t), newPlace(t)
	app := innocent.deploy("innocent")
	delivered(t, app, innocent.cluster)
	mistaken.remove(mistaken.apps[:4]...)
	began := time.Now()
	testkit.Until(t, "the four to be noted", func() bool { return time.Since(began) > time.Second })
	remove(t, app)
	testkit.Until(t, "all five to be held together", func() bool {
		return gauge(t, mistaken.namespace) == 4 && gauge(t, innocent.namespace) == 1
	})
	for i, a := range mistaken.apps[:4] {
		mistaken.apps[i] = mistaken.deploy(a.Name, mistaken.owned)
	}
	withdrawn(t, app)
	mistaken.kept()
}

// A hold ends by itself once the pending removals are within the limit.
func TestBudget_endsAHoldWithItsWindow(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)), func(o *Options) { o.Withdrawals.Window = 20 * time.Second })
	g := generate(t)
	g.remove(g.apps[:2]...)
	g.awaitLeft(many - 2)
	remove(t, g.apps[2])
	remove(t, g.apps[3])
	testkit.Eventually(t, "the hold of what is more than a quarter of twelve", func() error { return told(t, "ApplicationSet", g.namespace) })
	g.awaitLeft(many - 4)
}

// awaitRemembered waits until the override of an ApplicationSet is stored.
func (g *generated) awaitRemembered(hubNamespace string) {
	g.t.Helper()
	testkit.Eventually(g.t, "the words of the ApplicationSet to be stored", func() error {
		stored := &corev1.ConfigMap{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: hubNamespace, Name: "multicluster-integrations-deletion-budget"}, stored); err != nil {
			return err
		}
		if text := stored.Data["applicationsets"]; text == "" || text == "{}" {
			return fmt.Errorf("it is %q", text)
		}
		return nil
	})
}

// The hold of an ApplicationSet outlives the ApplicationSet, also across a restart, because both are deleted
// together. Its approval and its pause end with it.
func TestBudget_keepsTheHoldOfADeletedApplicationSet(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		// condition is the message of its Applications.
		condition string
	}{
		"approve": {key: contract.DeletionBudgetAnnotation, value: until("approve"), condition: " of 12 deliveries of ApplicationSet %s/guestbook would be withdrawn"},
		"hold":    {key: contract.DeletionBudgetAnnotation, value: until("hold"), condition: "of ApplicationSet %s/guestbook, which is gone: hold until"},
		"pause":   {key: contract.PausedAnnotation, value: "delivery", condition: " of 12 deliveries of ApplicationSet %s/guestbook would be withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hubNamespace := newHubNamespace(t)
			first := start(t, withBudget(hubNamespace))
			g := generate(t, argocd.ResourcesFinalizer)
			g.annotate(c.key, c.value)
			if name == "hold" {
				g.awaitRemembered(hubNamespace)
			}
			first.stop()
			remove(t, g.set)
			start(t, withBudget(hubNamespace))
			g.remove(g.apps...)
			for _, app := range g.apps {
				awaitCondition(t, app, policy.WarningCondition, fmt.Sprintf(c.condition, g.namespace))
			}
			g.kept()
			g.decide(namespace(g.namespace), "approve") // overrides the hold, which nobody can edit any more
			g.awaitLeft(0)
		})
	}
}

// propagation records the annotations of an ApplicationSet at once, although the search for the Applications of
// another one takes long. The record decides once the ApplicationSet is deleted.
func TestBudget_recordsAnnotationsDuringASlowSearch(t *testing.T) {
	hubNamespace, slow, search := newHubNamespace(t), atomic.Pointer[generated]{}, make(chan struct{})
	startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				options := (&client.ListOptions{}).ApplyOptions(opts)
				_, apps := list.(*argocd.ApplicationList)
				if g := slow.Load(); apps && g != nil && options.Namespace == g.namespace && options.FieldSelector == nil {
					<-search
				}
				return c.List(ctx, list, opts...)
			},
		})
	}, withBudget(hubNamespace))
	defer close(search)
	first, second := generate(t), generate(t)
	slow.Store(first)
	first.annotate(contract.PausedAnnotation, "delivery")
	second.annotate(contract.DeletionPolicyAnnotation, payload.DeletionOrphan)
	second.awaitRemembered(hubNamespace)
}

// If a pause ends with a deleted ApplicationSet, its Namespace gets an Event, and waiting Applications are
// delivered.
func TestBudget_reportsWhatEndsWithApplicationSet(t *testing.T) {
	start(t, withBudget(newHubNamespace(t)))
	g := generate(t)
	g.annotate(contract.PausedAnnotation, "delivery")
	awaitCondition(t, g.deploy("waiting", g.owned), policy.WarningCondition, "paused (delivery)")
	remove(t, g.set)
	testkit.Eventually(t, "the Event on the Namespace", func() error {
		if n, note := heldEvents(t, "Namespace", g.namespace, policy.ReasonEndedWithSet); n != 1 || !strings.Contains(note, `paused="delivery" ended with it; 12 deliveries were left`) {
			return fmt.Errorf("there are %d: %s", n, note)
		}
		return nil
	})
	testkit.Eventually(t, "what waited to be delivered", func() error {
		if n := len(works(t, g.app("waiting"))); n != 1 {
			return fmt.Errorf("it has %d works", n)
		}
		return nil
	})
}

func until(word string) string {
	return word + " until " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
}

// annotate annotates the ApplicationSet.
func (g *generated) annotate(key, value string) {
	g.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := hub.client.Patch(context.Background(), g.set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		g.t.Fatal(err)
	}
}

// A hold on the ApplicationSet does not hold removals after a lost permission.
func TestBudget_ignoresTheApplicationSetForLostPermissions(t *testing.T) {
	hubNamespace := newHubNamespace(t)
	start(t, withBudget(hubNamespace))
	g := generate(t)
	g.decide(g.set, "hold")
	remove(t, g.apps[0])
	testkit.Eventually(t, "the hold", func() error {
		if n := gauge(t, g.namespace); n != 1 {
			return fmt.Errorf("%v are held", n)
		}
		return nil
	})
	g.kept()
	g.decide(namespace(hubNamespace), "approve")
	g.bind()       // to no cluster
	g.awaitLeft(0) // also the tenant's held deletion
}
