// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// withBudget enables the deletion budget with a limit that tests reach. The hub has no limit, because other
// tests share the hub.
func withBudget(namespace string) func(*Options) {
	return func(o *Options) {
		o.HubNamespace = namespace
		o.Withdrawals = budget.Settings{Group: limit.Limit{Percent: 25, Least: 2}, Hub: limit.Limit{Percent: 100}, Window: 10 * time.Minute, Gather: 3 * time.Second}
	}
}

// newHubNamespace creates a namespace for the stored state of propagation.
func newHubNamespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("hub-%d", serial.Add(1))
	(&place{t: t}).create(namespace(name))
	return name
}

// generated is an ApplicationSet with Applications, as its controller creates them.
type generated struct {
	*place
	set  *unstructured.Unstructured
	apps []*argocd.Application
	// uids has the UIDs of the works by Application.
	uids map[string]types.UID
}

const many = 12

// newSet creates an ApplicationSet without Applications.
func newSet(t *testing.T) *generated {
	t.Helper()
	g := &generated{place: newPlace(t), uids: map[string]types.UID{}}
	g.set = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"generators": []any{},
		"template":   map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"project": "default", "destination": map[string]any{}}},
	}}}
	g.set.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind))
	g.set.SetNamespace(g.namespace)
	g.set.SetName("guestbook")
	g.create(g.set)
	return g
}

// generate creates an ApplicationSet with many Applications and waits for their works.
func generate(t *testing.T, finalizers ...string) *generated {
	t.Helper()
	g := newSet(t)
	for i := range many {
		g.apps = append(g.apps, g.deploy(fmt.Sprintf("guestbook-%d", i), g.owned, func(a *argocd.Application) { a.Finalizers = finalizers }))
	}
	for _, app := range g.apps {
		g.uids[app.Name] = delivered(t, app, g.cluster).UID
	}
	return g
}

func (g *generated) owned(a *argocd.Application) {
	a.OwnerReferences = []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: g.set.GetName(), UID: g.set.GetUID()}}
}

// each calls act for the first n Applications.
func (g *generated) each(n int, act func(*argocd.Application)) {
	for _, app := range g.apps[:n] {
		act(app)
	}
}

// remove deletes Applications together.
func (g *generated) remove(apps ...*argocd.Application) {
	g.t.Helper()
	g.together(apps, func(app *argocd.Application) error { return hub.client.Delete(context.Background(), app) })
}

// together writes Applications in parallel. The budget allows two removals after a second, and a busy machine
// may need a second for three requests.
func (g *generated) together(apps []*argocd.Application, write func(*argocd.Application) error) {
	g.t.Helper()
	var all sync.WaitGroup
	for _, app := range apps {
		all.Go(func() {
			if err := write(app); err != nil {
				g.t.Error(err)
			}
		})
	}
	all.Wait()
}

// kept fails unless every Application still has its first work, and none is terminating.
func (g *generated) kept() {
	g.t.Helper()
	for _, app := range g.apps {
		own := works(g.t, app)
		if len(own) != 1 || own[0].UID != g.uids[app.Name] || own[0].DeletionTimestamp != nil {
			g.t.Fatalf("%s has not kept its work %s: %d", app.Name, g.uids[app.Name], len(own))
		}
	}
}

// left counts works that are not being deleted.
func (g *generated) left() (n int) {
	for _, app := range g.apps {
		for _, w := range works(g.t, app) {
			if w.DeletionTimestamp == nil {
				n++
			}
		}
	}
	return n
}

func (g *generated) awaitLeft(n int) {
	g.t.Helper()
	testkit.Eventually(g.t, fmt.Sprintf("%d works to be left", n), func() error {
		if left := g.left(); left != n {
			return fmt.Errorf("there are %d", left)
		}
		return nil
	})
}

// heldEvents returns the number of Events with a reason on objects of a kind, and the last note.
func heldEvents(t *testing.T, kind, namespace, reason string) (n int, note string) {
	t.Helper()
	var list eventsv1.EventList
	if err := hub.client.List(context.Background(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Kind == kind && e.Reason == reason {
			n, note = n+1, e.Note
		}
	}
	return n, note
}

// awaitHeld waits for the Event of the hold on an object, and fails if a work was removed.
func (g *generated) awaitHeld(kind string) {
	g.t.Helper()
	testkit.Eventually(g.t, "the Event of the hold on the "+kind, func() error {
		if n, _ := heldEvents(g.t, kind, g.namespace, policy.ReasonWithdrawalHeld); n != 1 {
			return fmt.Errorf("there are %d; %d works are left", n, g.left())
		}
		return nil
	})
	g.kept()
}

// another removes an Application of another namespace and cluster. After that, the budget has
// evaluated all earlier removals.
func another(t *testing.T) {
	t.Helper()
	p := newPlace(t)
	app := p.deploy("another")
	delivered(t, app, p.cluster)
	remove(t, app)
	withdrawn(t, app)
}

func (g *generated) decide(o client.Object, word string) {
	g.t.Helper()
	value := any(nil)
	if word != "" {
		value = word + " until " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	}
	annotate(g.t, o, value)
}

func annotate(t *testing.T, o client.Object, value any) {
	t.Helper()
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", value)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, contract.DeletionBudgetAnnotation, text)
	if err := hub.client.Patch(context.Background(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// The budget holds a removal that is too large as a whole and reports it. It allows the removal once it is
// approved.
func TestBudget_holdsARemovalOverTheLimit(t *testing.T) {
	hubNamespace := newHubNamespace(t)
	start(t, withBudget(hubNamespace))
	for name, c := range map[string]struct {
		finalizers []string
		act        func(*generated)
		// on is the kind of the object with the Event. condition is true if an existing Application reports
		// the hold, too.
		on        string
		condition bool
	}{
		"deleted":  {finalizers: []string{argocd.ResourcesFinalizer}, act: func(g *generated) { g.remove(g.apps...) }, on: "ApplicationSet", condition: true},
		"gone":     {act: func(g *generated) { g.remove(g.apps...) }, on: "ApplicationSet"},
		"setsGone": {act: func(g *generated) { remove(g.t, g.set); g.remove(g.apps...) }, on: "Namespace"},
		"unlabelled": {act: func(g *generated) {
			g.together(g.apps, func(a *argocd.Application) error {
				return hub.client.Patch(context.Background(), a.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`)))
			})
		}, on: "ApplicationSet", condition: true},
		"unbound": {act: func(g *generated) { g.bind() }, on: "ApplicationSet", condition: true},
		"retargeted": {act: func(g *generated) {
			other := newCluster(g.t)
			g.bind(g.cluster, other)
			applying(g.t, other)
			applying(g.t, g.cluster)
			g.each(6, func(a *argocd.Application) { finalized(g.t, &works(g.t, a)[0]) }) // otherwise the budget counts none
			g.each(6, func(a *argocd.Application) {
				edit(g.t, a, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
			})
		}, on: "ApplicationSet", condition: true},
		"oneByOne": {finalizers: []string{argocd.ResourcesFinalizer}, act: func(g *generated) {
			g.remove(g.apps[:3]...)
			for _, a := range g.apps[3:] {
				then := time.NewTimer(100 * time.Millisecond)
				<-then.C
				remove(g.t, a)
			}
		}, on: "ApplicationSet", condition: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := generate(t, c.finalizers...)
			c.act(g)
			if name == "retargeted" {
				testkit.Eventually(t, "the hold", func() error { return told(t, c.on, g.namespace) })
				// New works are created before old ones are deleted. The budget allows two old ones after a
				// second, while the agent reports the new ones one by one.
				if left := g.left(); left < many+6-2 {
					t.Fatalf("%d works are left", left)
				}
			} else {
				g.awaitHeld(c.on)
			}
			if c.condition {
				condition(t, g.apps[:6])
			}
			if n := gauge(t, g.namespace); n < 4 {
				t.Errorf("the metric says %v", n)
			}
			if c.on == "Namespace" || name == "unbound" { // an ApplicationSet has no effect after a lost permission
				g.decide(namespace(g.namespace), "approve")
			} else {
				g.decide(g.set, "approve")
			}
			if name == "retargeted" {
				g.awaitLeft(many)
			} else {
				g.awaitLeft(0)
			}
		})
	}
}

func told(t *testing.T, kind, namespace string) error {
	if n, _ := heldEvents(t, kind, namespace, policy.ReasonWithdrawalHeld); n == 0 {
		return fmt.Errorf("no Event")
	}
	return nil
}

// condition waits until one of several Applications reports that its removal is held.
func condition(t *testing.T, apps []*argocd.Application) {
	t.Helper()
	testkit.Until(t, "an Application to say that its withdrawal is held", func() bool {
		return slices.ContainsFunc(apps, func(app *argocd.Application) bool {
			for _, message := range storedConditions(t, app) {
				if strings.Contains(message, "withdrawal held: ") {
					return true
				}
			}
			return false
		})
	})
}

// gauge returns the number of held deliveries of a namespace from the metric.
func gauge(t *testing.T, namespace string) (n float64) {
	t.Helper()
	return sum(t, "propagation_deletion_budget_held", "namespace", namespace)
}

// sum adds the values of a gauge, only of the series with a label if one is given.
func sum(t *testing.T, name string, label ...string) (n float64) {
	t.Helper()
	return sumIn(t, metrics.Registry, name, label...)
}

func sumIn(t *testing.T, registry prometheus.Gatherer, name string, label ...string) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			has := len(label) == 0
			for _, pair := range m.GetLabel() {
				has = has || pair.GetName() == label[0] && pair.GetValue() == label[1]
			}
			if has && family.GetName() == name {
				n += m.GetGauge().GetValue()
			}
		}
	}
	return n
}

// slowLooks lets some reconciles of Applications of a cluster finish. The others wait for release.
type slowLooks struct {
	cluster string
	free    int
	release chan struct{}

	mu      sync.Mutex
	looking map[types.UID]bool
}

func (s *slowLooks) wait(ctx context.Context) error {
	id := controller.ReconcileIDFromContext(ctx)
	s.mu.Lock()
	if !s.looking[id] && len(s.looking) < s.free {
		s.looking[id] = true
	}
	through := s.looking[id]
	s.mu.Unlock()
	if through {
		return nil
	}
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// After a start, nothing is removed before every Application with a ManifestWork has been reconciled.
// Otherwise the first deleted Applications would be within the limit.
func TestBudget_waitsForFirstPlans(t *testing.T) {
	on := withBudget(newHubNamespace(t))
	first := start(t, on)
	g := generate(t, argocd.ResourcesFinalizer)
	first.stop()
	g.remove(g.apps...)

	slow := &slowLooks{cluster: g.cluster, free: 2, release: make(chan struct{}), looking: map[types.UID]bool{}}
	release := sync.OnceFunc(func() { close(slow.release) })
	t.Cleanup(release)
	startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, is := o.(*clusterv1.ManagedCluster); is && key.Name == slow.cluster {
					if err := slow.wait(ctx); err != nil {
						return err
					}
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
	}, on, func(o *Options) { o.Concurrency = 20 })
	testkit.Eventually(t, "two looks to be through", func() error {
		slow.mu.Lock()
		defer slow.mu.Unlock()
		if len(slow.looking) < slow.free {
			return errors.New("not yet")
		}
		return nil
	})
	began := time.Now()
	testkit.Eventually(t, "the time after which a few would go", func() error {
		if time.Since(began) < 4*time.Second {
			return errors.New("not yet")
		}
		return nil
	})
	g.kept()
	release()
	g.awaitHeld("ApplicationSet")
}
