// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// objects is a cache that has the objects of these names.
type objects struct {
	client.Client
	names map[types.NamespacedName]bool
}

func (o objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if !o.names[key] {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	into.SetNamespace(key.Namespace)
	into.SetName(key.Name)
	return nil
}

// recorder keeps the Events that are recorded.
type recorder struct{ events []string }

func (r *recorder) Eventf(on, _ runtime.Object, _, reason, _, note string, args ...any) {
	r.events = append(r.events, fmt.Sprintf("%+v %s %s", on, reason, fmt.Sprintf(note, args...)))
}

// An Event of a hold is on an object that is there, and names the Namespace to approve on.
func TestReporter_namesObjectToAnnotate(t *testing.T) {
	team := guard.HeldBack{Group: guard.Group{Namespace: "team", Set: "guestbook"}, Holding: guard.Holding{Since: time.Unix(1, 0), Pending: 12, Deliveries: 12, Limit: 10}}
	all := guard.HeldBack{Holding: guard.Holding{Since: time.Unix(1, 0), Pending: 12, Deliveries: 12, Limit: 10, Hub: true}}
	for name, c := range map[string]struct {
		held   guard.HeldBack
		there  []types.NamespacedName
		on     string
		remedy string
	}{
		"set":           {held: team, there: []types.NamespacedName{{Namespace: "team", Name: "guestbook"}, {Name: "team"}, {Name: "hub"}}, on: "Kind:ApplicationSet,Namespace:team,Name:guestbook", remedy: "namespace team "},
		"setGone":       {held: team, there: []types.NamespacedName{{Name: "team"}, {Name: "hub"}}, on: "Kind:Namespace,Namespace:team,Name:team", remedy: "namespace team "},
		"namespaceGone": {held: team, there: []types.NamespacedName{{Name: "hub"}}, on: "Kind:Namespace,Namespace:hub,Name:hub", remedy: "namespace hub "},
		"hub":           {held: all, there: []types.NamespacedName{{Name: "team"}, {Name: "hub"}}, on: "Kind:Namespace,Namespace:hub,Name:hub", remedy: "namespace hub "},
	} {
		t.Run(name, func(t *testing.T) {
			cached := objects{names: map[types.NamespacedName]bool{}}
			for _, key := range c.there {
				cached.names[key] = true
			}
			kept := &recorder{}
			r := &reporter{client: cached, events: kept, options: Options{Namespace: "hub"}}
			r.report(t.Context(), []guard.HeldIn{{Group: team.Group, HeldBack: c.held, Works: 12}, {Group: guard.Group{Namespace: "other"}, HeldBack: c.held, Works: 1}})
			r.report(t.Context(), []guard.HeldIn{{Group: team.Group, HeldBack: c.held, Works: 11}})
			if len(kept.events) != 1 || !strings.Contains(kept.events[0], c.on) || !strings.Contains(kept.events[0], c.remedy) {
				t.Errorf("want one on %s that names %s: %q", c.on, c.remedy, kept.events)
			}
			r.report(t.Context(), nil)
		})
	}
}

// works is an index of a work for each Application of the namespace team.
type works []string

func (w works) List() (list []any) {
	for _, name := range w {
		work, _ := manifestcache.Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "cluster", Name: name, UID: types.UID(name), Labels: map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: name},
		}}, nil)
		list = append(list, work)
	}
	return list
}

func (w works) ByIndex(string, string) ([]any, error) { return nil, errors.New("not indexed") }

// After a start decisions wait for every Application that has a work, but not long for one
// that cannot be reconciled.
func TestBudget_waitsForFirstReconciles(t *testing.T) {
	started := time.Unix(1_000_000_000, 0)
	now := started
	good, broken := types.NamespacedName{Namespace: "team", Name: "good"}, types.NamespacedName{Namespace: "team", Name: "broken"}
	uncached := types.NamespacedName{Namespace: "team", Name: "uncached"}
	b := New(objects{}, nil, manifestcache.NewIndex(works{"good", "broken"}), &recorder{}, Options{Uncached: func() []types.NamespacedName { return []types.NamespacedName{uncached} }})
	b.now = func() time.Time { return now }
	for _, c := range []struct {
		reason string
		do     func()
		want   time.Duration
	}{
		{"none was reconciled", func() {}, initialReconcileTimeout},
		{"one was", func() { b.End(good, nil) }, initialReconcileTimeout},
		{"the other failed, and a work is not in the index", func() { b.End(broken, errors.New("malformed")) }, initialReconcileTimeout},
		{"that was reconciled", func() { b.End(uncached, nil) }, failedReconcileTimeout},
		{"the other fails", func() { b.End(broken, errors.New("malformed")) }, failedReconcileTimeout},
		{"it fails again", func() { now = now.Add(4 * time.Second); b.End(broken, errors.New("malformed")) }, failedReconcileTimeout - 4*time.Second},
		{"and again", func() { now = now.Add(7 * time.Second); b.End(broken, errors.New("malformed")) }, 0},
	} {
		c.do()
		if got := b.unreconciled(started); max(got, 0) != c.want {
			t.Errorf("%s: wait is %s, want %s", c.reason, got, c.want)
		}
	}
}
