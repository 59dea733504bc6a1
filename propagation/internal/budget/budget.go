// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

const (
	// initialReconcileTimeout is how long withdrawals wait, after a start, for Applications
	// that are not reconciled,
	initialReconcileTimeout = 2 * time.Minute
	// failedReconcileTimeout: and for those whose reconciles fail.
	failedReconcileTimeout = 10 * time.Second
	// debounce is how long news are gathered: each plan counts the fleet.
	debounce = 100 * time.Millisecond
	// firstRetry and lastRetry are when a plan that could not be stored is made again.
	firstRetry, lastRetry = time.Second, 10 * time.Second
)

// Options are the settings of a budget.
type Options struct {
	guard.Settings
	// Namespace is where propagation runs: the annotation of that Namespace decides for the
	// whole hub, and the records are stored there. Without it nothing is stored.
	Namespace string
	// Uncached returns the Applications of works that the index does not have yet.
	Uncached func() []types.NamespacedName
}

// Budget says which works may be withdrawn.
type Budget struct {
	client   client.Client
	index    *manifestcache.Index
	options  Options
	now      func() time.Time
	store    recordStore
	reporter reporter
	news     chan struct{}
	queue    chan workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu     sync.Mutex
	ledger *guard.Ledger
	words  guard.Words
	// unsaved: words are to be stored.
	unsaved bool
	// restored: what was stored is read.
	restored bool
	// failing are, since when, the Applications whose reconciles have failed since the
	// start, and with the zero time those that were reconciled; nil once all were.
	failing map[types.NamespacedName]time.Time
	// problem is why nothing can be decided, "" while it can.
	problem string
}

// New returns a budget for the works of an index; live reads from the API server.
func New(c client.Client, live client.Reader, index *manifestcache.Index, recorder events.EventRecorder, options Options) *Budget {
	return &Budget{
		client: c, index: index, options: options, now: time.Now,
		store:    recordStore{client: c, live: live, namespace: options.Namespace},
		reporter: reporter{client: c, events: recorder, options: options, reported: map[guard.HeldBack]bool{}},
		news:     make(chan struct{}, 1), queue: make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1),
		ledger: guard.NewLedger(options.Settings, nil), words: guard.Words{}, failing: map[types.NamespacedName]time.Time{},
	}
}

// Source requeues the Applications of which something has been decided. It is for one
// controller.
func (b *Budget) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		b.queue <- queue
		return nil
	})
}

// Wake has the worker decide again, since something has changed.
func (b *Budget) Wake() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// Begin begins a reconcile of an Application.
func (b *Budget) Begin(app types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ledger.Begin(app)
}

// End ends a reconcile. After one that failed everything noted before stays noted.
func (b *Budget) End(app types.NamespacedName, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := err == nil && b.ledger.End(app)
	if since, known := b.failing[app]; b.failing != nil && (!known || err == nil && !since.IsZero()) {
		b.failing[app], news = time.Time{}, true
		if err != nil {
			b.failing[app] = b.now()
		}
	}
	if news {
		b.Wake()
	}
}

// Note notes that a work of an Application is to be withdrawn, at once when due.
// revocation: since it may not be there any more, of which its ApplicationSet has no say.
// It returns whether the work may be withdrawn.
func (b *Budget) Note(app types.NamespacedName, work types.UID, group guard.Group, due, revocation bool, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	allowed, news := b.ledger.Note(app, work, group, due, revocation, now)
	if news {
		b.Wake()
	}
	return allowed
}

// Held returns why works that the present, or last, reconcile of an Application noted
// are held.
func (b *Budget) Held(app types.NamespacedName) (guard.HeldBack, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	why, held := b.ledger.Held(app)
	if !held && b.problem != "" && b.ledger.Waits(app) {
		return guard.HeldBack{Problem: b.problem}, true
	}
	return why, held
}

// Start decides until ctx ends.
func (b *Budget) Start(ctx context.Context) error {
	var queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	select {
	case queue = <-b.queue:
	case <-ctx.Done():
		return nil
	}
	next := time.NewTimer(0)
	defer next.Stop()
	started, soon, retry := b.now(), false, time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.news:
			if !soon && retry == 0 {
				soon = true
				next.Reset(debounce)
			}
			continue
		case <-next.C:
			soon = false
		}
		concerned, after, err := b.step(ctx, started)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			retry = 0
		} else {
			retry = min(max(firstRetry, 2*retry), lastRetry)
			after = retry
		}
		concerned = append(concerned, b.report(ctx, err, retry > firstRetry)...)
		for _, app := range concerned {
			queue.Add(reconcile.Request{NamespacedName: app})
		}
		if after > 0 {
			next.Reset(max(after, time.Millisecond))
		}
	}
}

// NeedLeaderElection returns true: there is one writer.
func (b *Budget) NeedLeaderElection() bool { return true }

// report reports whether decisions can be made at all, and returns the Applications that
// are to say so. One failure is none yet: another leader may have written.
func (b *Budget) report(ctx context.Context, err error, again bool) []types.NamespacedName {
	if err != nil && !again {
		return nil
	}
	problem := b.reporter.problem(ctx, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.problem == problem {
		return nil
	}
	b.problem = problem
	return b.ledger.Waiting()
}

// step takes up what is stored, stores what ApplicationSets say, and decides. It returns
// the Applications that are concerned, and when to decide again, 0 for when something has
// changed.
func (b *Budget) step(ctx context.Context, started time.Time) (concerned []types.NamespacedName, after time.Duration, err error) {
	if err := b.restoreOnce(ctx); err != nil {
		return nil, 0, err
	}
	if err := b.saveWords(ctx); err != nil {
		return nil, 0, err
	}
	if left := b.unreconciled(started); left > 0 {
		return nil, left, nil
	}
	return b.decide(ctx)
}

// unreconciled returns how long to wait for Applications that have works and were not
// reconciled since the start, so that the whole damage is known.
func (b *Budget) unreconciled(started time.Time) (left time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing == nil {
		return 0
	}
	now := b.now()
	apps := b.options.Uncached()
	for _, work := range b.index.All() {
		if app, ours := work.Application(); ours {
			apps = append(apps, app)
		}
	}
	for _, app := range apps {
		since, known := b.failing[app]
		switch {
		case !known:
			left = max(left, started.Add(initialReconcileTimeout).Sub(now))
		case !since.IsZero():
			left = max(left, since.Add(failedReconcileTimeout).Sub(now))
		}
	}
	if left <= 0 {
		b.failing = nil
	}
	return left
}

// decide decides on all that is to be withdrawn.
func (b *Budget) decide(ctx context.Context) ([]types.NamespacedName, time.Duration, error) {
	b.mu.Lock()
	groups := b.ledger.Groups()
	b.mu.Unlock()
	hub, err := b.hub(ctx, groups)
	if err != nil {
		return nil, 0, err
	}
	b.mu.Lock()
	plan := b.ledger.Plan(hub, b.now())
	b.mu.Unlock()
	if plan.Changed {
		if err := b.save(ctx, plan.Records, hub.Deliveries); err != nil {
			return nil, 0, errors.Join(err, b.restore(ctx)) // another leader may have written
		}
	}
	b.mu.Lock()
	concerned := b.ledger.Apply(plan)
	holds := b.ledger.Holds()
	b.mu.Unlock()
	b.reporter.report(ctx, holds)
	return concerned, plan.After, nil
}

// hub reads what a plan for groups needs.
func (b *Budget) hub(ctx context.Context, groups map[guard.Group]bool) (guard.Hub, error) {
	hub := guard.Hub{Decisions: map[guard.Lane]guard.Decision{}, Deliveries: func(guard.Group) int { return 0 }}
	if len(groups) == 0 {
		return hub, nil
	}
	hub.Deliveries = deliveries(b.index)
	lanes := []guard.Lane{{}}
	for g := range groups {
		lanes = append(lanes, guard.Lane{Group: g}, guard.Lane{Group: g, Revocation: true})
	}
	for _, lane := range lanes {
		d, err := b.Decision(ctx, lane.Group, lane.Revocation)
		if err != nil {
			return hub, err
		}
		hub.Decisions[lane] = d
	}
	return hub, nil
}
