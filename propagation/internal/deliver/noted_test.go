// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// worksOf is an index of a work for each Application of the namespace team.
type worksOf []string

func (w worksOf) List() (list []any) {
	for _, name := range w {
		work, _ := manifestcache.Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "cluster", Name: name, UID: types.UID(name), Labels: map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: name},
		}}, nil)
		list = append(list, work)
	}
	return list
}

func (w worksOf) GetByKey(string) (any, bool, error) { return nil, false, errors.New("not indexed") }

func (w worksOf) ByIndex(string, string) ([]any, error) { return nil, errors.New("not indexed") }

// After a start decisions wait for every Application that has a work, but not long for one
// that cannot be reconciled.
func TestNoted_waitsForFirstReconciles(t *testing.T) {
	started := time.Unix(1_000_000_000, 0)
	now := started
	good, broken := types.NamespacedName{Namespace: "team", Name: "good"}, types.NamespacedName{Namespace: "team", Name: "broken"}
	uncached := types.NamespacedName{Namespace: "team", Name: "uncached"}
	n := &noted{
		Budget: budget.New(nil, nil, nil, budget.Options{}), index: manifestcache.NewIndex(worksOf{"good", "broken"}), now: func() time.Time { return now },
		uncached: func() []types.NamespacedName { return []types.NamespacedName{uncached} },
		plans:    map[types.NamespacedName]*notedPlan{}, failing: map[types.NamespacedName]time.Time{},
	}
	end := func(app types.NamespacedName, err error) { n.End(app, decide.Group{Namespace: "team"}, 1, err) }
	for _, c := range []struct {
		reason string
		do     func()
		want   time.Duration
	}{
		{"none was reconciled", func() {}, initialReconcileTimeout},
		{"one was", func() { end(good, nil) }, initialReconcileTimeout},
		{"the other failed, and a work is not in the index", func() { end(broken, errors.New("malformed")) }, initialReconcileTimeout},
		{"that was reconciled", func() { end(uncached, nil) }, failedReconcileTimeout},
		{"the other fails", func() { end(broken, errors.New("malformed")) }, failedReconcileTimeout},
		{"it fails again", func() { now = now.Add(4 * time.Second); end(broken, errors.New("malformed")) }, failedReconcileTimeout - 4*time.Second},
		{"and again", func() { now = now.Add(7 * time.Second); end(broken, errors.New("malformed")) }, 0},
	} {
		c.do()
		if got, err := n.unreconciled(t.Context(), started); err != nil || max(got, 0) != c.want {
			t.Errorf("%s: wait is %s, want %s, %v", c.reason, got, c.want, err)
		}
	}
}
