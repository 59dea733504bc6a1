// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

const (
	// firstLooks is how long withdrawals wait, after a start, for the Applications that
	// cannot be looked at.
	firstLooks = 2 * time.Minute
	// gathered is how long news for the guard is gathered: each plan counts the fleet.
	gathered = 100 * time.Millisecond
	// afterFailure is when a plan that could not be stored is made again.
	afterFailure = time.Second
)

// withdrawals stands between those who find that a delivery is to be withdrawn, and
// its end. Each look at an Application notes what of it is to go; judge, which sees all
// that was noted, lets some of it go and sends its Applications round again.
type withdrawals struct {
	mu     sync.Mutex
	ledger *guard.Ledger
	// looked are the Applications that have been looked at since the start, nil once
	// that was all of them.
	looked map[types.NamespacedName]bool
	news   chan struct{}
	store  recordStore
	// restored: what was stored is taken up.
	restored bool
	// reported are the holds of which a log line and an Event were written.
	reported map[guard.Group]guard.HeldBack
	// shown are the series of the metrics.
	shown map[series]bool
}

// series are the labels of a held group in metrics.
type series struct{ namespace, set, by string }

func newWithdrawals(settings guard.Settings, store recordStore) *withdrawals {
	return &withdrawals{
		ledger: guard.NewLedger(settings, nil), looked: map[types.NamespacedName]bool{}, news: make(chan struct{}, 1),
		store: store, reported: map[guard.Group]guard.HeldBack{},
	}
}

// wake makes judge look again.
func (w *withdrawals) wake() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

func (w *withdrawals) begin(app types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger.Begin(app)
}

// end ends a look. After one that failed everything noted before stays noted.
func (w *withdrawals) end(app types.NamespacedName, err error) {
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	news := w.ledger.End(app)
	if w.looked != nil && !w.looked[app] {
		w.looked[app], news = true, true
	}
	if news {
		w.wake()
	}
}

// note notes that a work of app is to be withdrawn, when due at once, and reports
// whether it may be.
func (w *withdrawals) note(app types.NamespacedName, work *manifestcache.Cached, due bool, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	admitted, news := w.ledger.Note(app, work.UID, groupOf(work), due, now)
	if news {
		w.wake()
	}
	return admitted
}

// held returns why works of app that were noted by the present look are held.
func (w *withdrawals) held(app types.NamespacedName) (guard.HeldBack, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger.Held(app)
}

// groupOf returns the group that a work is judged with.
func groupOf(work metav1.Object) guard.Group {
	app, _ := manifestcache.ClaimantOf(work)
	namespace, set, ok := contract.SplitKey(work.GetAnnotations()[contract.HostingAnnotation])
	if !ok || namespace != app.Namespace {
		set = ""
	}
	return guard.Group{Namespace: app.Namespace, Set: set}
}

// deliveries counts the works of the cache that are not being deleted, by group.
func (r *Reconciler) deliveries() func(guard.Group) int {
	all, bySet, alone := 0, map[string]int{}, map[string]int{}
	for _, work := range r.index.All() {
		app, ours := work.Application()
		if !ours || work.Leaving() {
			continue
		}
		all++
		if hash := work.GetLabels()[contract.ApplicationSetHashLabel]; hash != "" {
			bySet[hash]++
		} else {
			alone[app.Namespace]++
		}
	}
	return func(g guard.Group) int {
		switch {
		case g == guard.Group{}:
			return all
		case g.Set == "":
			return alone[g.Namespace]
		}
		return bySet[contract.ApplicationSetHash(g.Namespace, g.Set)]
	}
}

// guardWithdrawals judges what is to be withdrawn until ctx ends.
func (r *Reconciler) guardWithdrawals(ctx context.Context) error {
	w := r.withdrawals
	log := ctrl.LoggerFrom(ctx).WithName("guard")
	next := time.NewTimer(0)
	defer next.Stop()
	ready, soon := false, false
	started := r.now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.news:
			if !soon {
				soon = true
				next.Reset(gathered)
			}
			continue
		case <-next.C:
			soon = false
		}
		after, err := time.Duration(0), error(nil)
		if !ready {
			ready, after, err = r.prepare(ctx, started)
		}
		if ready && err == nil {
			after, err = r.judge(ctx)
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "cannot decide on withdrawals; nothing is withdrawn until a retry succeeds", "again", afterFailure.String())
			after = afterFailure
		}
		if after > 0 {
			next.Reset(max(after, time.Millisecond))
		}
	}
}

// prepare reports whether withdrawals can be judged: what was remembered is read, and
// each Application that has a work was looked at, so that the whole damage is known.
func (r *Reconciler) prepare(ctx context.Context, started time.Time) (ready bool, after time.Duration, err error) {
	w := r.withdrawals
	if !w.restored {
		if err := w.restore(ctx); err != nil {
			return false, 0, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	left := firstLooks - r.now().Sub(started)
	for _, work := range r.index.All() {
		if app, ours := work.Application(); ours && !w.looked[app] && left > 0 {
			return false, left, nil // its look leads back here
		}
	}
	w.looked = nil
	return true, 0, nil
}

// restore takes up what was stored, and what has been said of it.
func (w *withdrawals) restore(ctx context.Context) error {
	records, err := w.store.load(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger.Restore(records)
	w.restored = true
	for g, record := range records {
		if record.Held != nil {
			w.reported[g], _ = w.ledger.HeldGroup(g)
		}
	}
	return nil
}

// judge decides on all that is to be withdrawn, and returns when to do so again, 0 for
// when something has changed.
func (r *Reconciler) judge(ctx context.Context) (time.Duration, error) {
	w := r.withdrawals
	w.mu.Lock()
	groups := w.ledger.Groups()
	w.mu.Unlock()
	hub := guard.Hub{Decisions: map[guard.Group]guard.Decision{}, Deliveries: func(guard.Group) int { return 0 }}
	if len(groups) > 0 {
		hub.Deliveries = r.deliveries()
	}
	for g := range groups {
		decision, err := r.decisionOn(ctx, g)
		if err != nil {
			return 0, err
		}
		hub.Decisions[g] = decision
	}
	w.mu.Lock()
	plan := w.ledger.Plan(hub, r.now())
	w.mu.Unlock()
	if plan.Changed {
		if err := w.store.save(ctx, plan.Records); err != nil {
			return 0, errors.Join(err, w.restore(ctx)) // another leader may have written
		}
	}
	w.mu.Lock()
	concerned := w.ledger.Carry(plan)
	w.mu.Unlock()
	r.reportHolds(ctx)
	for _, key := range concerned {
		select {
		case r.swept <- event.GenericEvent{Object: &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}}:
		case <-ctx.Done():
			return 0, nil
		}
	}
	return plan.After, nil
}
