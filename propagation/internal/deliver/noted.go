// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

const (
	// initialReconcileTimeout is how long ends wait, after a start, for Applications that are
	// not reconciled,
	initialReconcileTimeout = 2 * time.Minute
	// failedReconcileTimeout: and for those whose reconciles fail.
	failedReconcileTimeout = 10 * time.Second
)

// noted makes plans for the budget of what reconciles note one by one.
type noted struct {
	*budget.Budget
	index *manifestcache.Index
	// uncached returns the Applications of works that the index does not have yet.
	uncached func() []types.NamespacedName
	now      func() time.Time

	mu    sync.Mutex
	plans map[types.NamespacedName]*notedPlan
	// failing are, since when, the Applications whose reconciles have failed since the start,
	// and with the zero time those that were reconciled; nil once all were.
	failing map[types.NamespacedName]time.Time
}

// notedPlan is what reconciles of an Application have noted.
type notedPlan struct {
	group      decide.Group
	deliveries int
	// fates are those of the present reconcile, and of the last one those in before.
	fates, before map[types.UID]decide.Fate
	held          string
}

func (p *notedPlan) plan(app types.NamespacedName) decide.Plan {
	all := maps.Clone(p.fates)
	for uid, fate := range p.before {
		if _, again := all[uid]; !again {
			all[uid] = fate
		}
	}
	return decide.Plan{Key: app, Group: p.group, Deliveries: p.deliveries, Fates: slices.Collect(maps.Values(all))}
}

// of returns what is noted of an Application.
func (n *noted) of(app types.NamespacedName) *notedPlan {
	if n.plans[app] == nil {
		n.plans[app] = &notedPlan{fates: map[types.UID]decide.Fate{}}
	}
	return n.plans[app]
}

// Begin begins a reconcile of an Application.
func (n *noted) Begin(app types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.of(app)
	maps.Copy(p.fates, p.before)
	p.before, p.fates, p.held = p.fates, map[types.UID]decide.Fate{}, ""
}

// Note notes that a work is to end, and returns whether it may.
func (n *noted) Note(app types.NamespacedName, group decide.Group, fate decide.Fate) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.of(app)
	p.group, p.fates[fate.UID] = group, fate
	v := n.Set(p.plan(app))
	if fate.Due {
		p.held = v.Held
	}
	return v.Allowed[fate.UID]
}

// Held returns why works that the present, or last, reconcile of an Application noted are held.
func (n *noted) Held(app types.NamespacedName) (text string, held bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.plans[app]; p != nil {
		text = p.held
	}
	return text, text != ""
}

// End ends a reconcile. After one that failed everything noted before stays noted.
func (n *noted) End(app types.NamespacedName, group decide.Group, deliveries int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if since, known := n.failing[app]; n.failing != nil && (!known || err == nil && !since.IsZero()) {
		n.failing[app] = time.Time{}
		if err != nil {
			n.failing[app] = n.now()
		}
		n.Wake()
	}
	if err != nil {
		return
	}
	p := n.of(app)
	p.group, p.deliveries, p.before = group, deliveries, nil
	n.Set(p.plan(app))
	if len(p.fates) == 0 && deliveries == 0 {
		delete(n.plans, app)
	}
}

// unreconciled returns how long to wait for Applications that have works and were not
// reconciled since the start, so that the whole damage is known.
func (n *noted) unreconciled(_ context.Context, started time.Time) (left time.Duration, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failing == nil {
		return 0, nil
	}
	now, apps := n.now(), n.uncached()
	for _, work := range n.index.All() {
		if app, ours := work.Application(); ours {
			apps = append(apps, app)
		}
	}
	for _, app := range apps {
		since, known := n.failing[app]
		switch {
		case !known:
			left = max(left, started.Add(initialReconcileTimeout).Sub(now))
		case !since.IsZero():
			left = max(left, since.Add(failedReconcileTimeout).Sub(now))
		}
	}
	if left <= 0 {
		n.failing = nil
	}
	return left, nil
}

// onCluster counts the works on a cluster that are not being deleted.
func (n *noted) onCluster(cluster string) (count int) {
	for _, work := range n.index.All() {
		if work.Namespace == cluster && work.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}
