// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Operators annotate ApplicationSets and Namespaces, which no controller overwrites. The
// ApplicationSet controller replaces the annotations of its Applications.

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

const (
	// debounce is how long changes are collected before an evaluation, because each one counts the
	// fleet.
	debounce = 100 * time.Millisecond
	// firstRetry and lastRetry are the delays before an evaluation that could not be stored is
	// repeated.
	firstRetry, lastRetry = time.Second, 10 * time.Second
	// saveEvery is the shortest time between two writes of changes by tenants and permissions.
	saveEvery = 10 * time.Second
)

// errNotRestored means that the stored overrides of deleted ApplicationSets are not loaded yet.
var errNotRestored = errors.New("the records of withdrawals are not read yet")

// Budget decides which ManifestWorks may be removed.
type Budget struct {
	client   client.Client
	options  Options
	now      func() time.Time
	store    store
	reporter reporter
	news     chan struct{}
	queue    chan workqueue.TypedRateLimitingInterface[reconcile.Request]
	started  time.Time

	mu sync.Mutex
	// prepared is true once every Application was planned. Until then reconciled lists the
	// Applications that a reconcile has planned.
	prepared   bool
	reconciled map[types.NamespacedName]bool
	ledger     *ledger
	sets       sets
	// setsChanged is true if the sets of ApplicationSets have to be stored. dirty is when the oldest
	// unsaved note changed.
	setsChanged bool
	dirty       time.Time
	// restored is true once the stored memory is loaded.
	restored bool
	// problem is why no decision is possible, or "".
	problem string
}

// New returns a Budget. live reads from the API server.
func New(c client.Client, live client.Reader, recorder events.EventRecorder, options Options) *Budget {
	return &Budget{
		client: c, options: options, now: time.Now,
		store:    store{client: c, live: live, namespace: options.Namespace},
		reporter: reporter{client: c, events: recorder, options: options, reported: map[heldBack]heldBack{}},
		news:     make(chan struct{}, 1), queue: make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1),
		ledger: newLedger(options.Settings), sets: sets{}, reconciled: map[types.NamespacedName]bool{},
	}
}

// Source returns a source that requeues the Applications with a new decision. Only one controller
// can use it.
func (b *Budget) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		b.queue <- queue
		return nil
	})
}

// Wake starts another evaluation after a change.
func (b *Budget) Wake() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// Set replaces the plan of an Application and returns which of its removals may proceed.
func (b *Budget) Set(p decide.Plan) decide.Verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.prepared {
		b.reconciled[p.Key] = true
	}
	b.ledger.set(p, b.now())
	b.takeNews()
	v := decide.Verdict{Allowed: map[types.UID]bool{}}
	waits := false
	for i := range p.Fates {
		if w := b.ledger.works[p.Fates[i].UID]; w != nil && w.end != nil {
			v.Allowed[p.Fates[i].UID] = w.end.allowed
			waits = waits || w.end.waits()
		}
	}
	why, held := b.ledger.heldOf(p.Key)
	if !held && waits && b.problem != "" {
		why, held = heldBack{Problem: b.problem}, true
	}
	if held {
		v.Held = b.reporter.text(why, p.Key.Namespace)
	}
	return v
}

// SetFirst records the plan that [Options.Prepare] made for an Application. It does nothing if a
// reconcile has planned the Application, because that plan may rest on later facts.
func (b *Budget) SetFirst(p decide.Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.reconciled[p.Key] {
		b.ledger.set(p, b.now())
		b.takeNews()
	}
}

// takeNews starts an evaluation if the ledger has changed.
func (b *Budget) takeNews() {
	if b.ledger.unsaved && b.dirty.IsZero() {
		b.dirty = b.now()
	}
	if b.ledger.news || b.ledger.unsaved {
		b.Wake()
	}
	b.ledger.news, b.ledger.unsaved = false, false
}

// Note returns the ledger's note of a ManifestWork.
func (b *Budget) Note(work types.UID) decide.Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.note(work)
}

// GoneSince returns when an Application was first planned as deleted, or the zero time.
func (b *Budget) GoneSince(app types.NamespacedName) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.plans[app].goneSince
}

// Observe records the annotations of an ApplicationSet that exists or was just deleted.
func (b *Budget) Observe(set *metav1.PartialObjectMetadata) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sets.observe(decide.Group{Namespace: set.Namespace, Set: set.Name}, set.Annotations, b.now()) {
		b.setsChanged = true
		b.Wake()
	}
}

// Gone records that an ApplicationSet was deleted. Its Namespace gets an Event about annotations
// that ended with it.
func (b *Budget) Gone(ctx context.Context, set *metav1.PartialObjectMetadata) {
	b.Observe(set)
	b.mu.Lock()
	g := decide.Group{Namespace: set.Namespace, Set: set.Name}
	n, outlives := b.ledger.deliveries(g), b.sets.overrides(g) > 0
	b.mu.Unlock()
	b.reporter.ended(ctx, set, n, outlives)
}

// Outlives returns which annotations of a deleted ApplicationSet still have an effect, or nil.
func (b *Budget) Outlives(set types.NamespacedName) (*decide.Annotations, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.restored {
		return nil, errNotRestored
	}
	g := decide.Group{Namespace: set.Namespace, Set: set.Name}
	return left(g, b.sets[g].Annotations, b.now()), nil
}

// Start evaluates until ctx ends.
func (b *Budget) Start(ctx context.Context) error {
	var queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	select {
	case queue = <-b.queue:
	case <-ctx.Done():
		return nil
	}
	next := time.NewTimer(0)
	defer next.Stop()
	b.started = b.now()
	soon, retry := false, time.Duration(0)
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
		concerned, after, err := b.step(ctx)
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

// NeedLeaderElection returns true, because only one process may write the stored memory.
func (b *Budget) NeedLeaderElection() bool { return true }

// report updates the reported problem and returns the Applications that have to show it. A first
// failure is not reported, because another leader may have written.
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
	return b.ledger.waiting()
}

// step loads the stored state, evaluates the removals, and stores the result before it takes
// effect. It returns the Applications with a new decision, and the delay until the next evaluation.
// A delay of 0 waits for a change.
func (b *Budget) step(ctx context.Context) (concerned []types.NamespacedName, after time.Duration, err error) {
	if err := b.restoreOnce(ctx); err != nil {
		return nil, 0, err
	}
	if !b.prepared {
		wait, err := b.options.Prepare(ctx, b.started)
		if err != nil {
			return nil, 0, err
		}
		if wait > 0 {
			later, err := b.save(ctx, nil)
			return nil, decide.Sooner(wait, later), err
		}
		b.mu.Lock()
		b.prepared, b.reconciled = true, nil
		b.mu.Unlock()
	}
	unlimited, err := b.unlimited(ctx)
	if err != nil {
		return nil, 0, err
	}
	b.mu.Lock()
	b.ledger.forget(b.now(), b.started)
	b.takeNews()
	j := evaluate(b.ledger.state(unlimited, b.options.OnCluster, b.now()))
	b.mu.Unlock()
	later, err := b.save(ctx, &j)
	if err != nil {
		return nil, 0, err
	}
	b.mu.Lock()
	concerned = b.ledger.apply(j)
	holds := b.ledger.allHolds()
	b.mu.Unlock()
	b.reporter.report(ctx, holds)
	return concerned, decide.Sooner(j.after, later), nil
}

// unlimited reports whether propagation's Namespace approves all removals. No other annotation
// lifts the limit of the hub.
func (b *Budget) unlimited(ctx context.Context) (bool, error) {
	if b.options.Namespace == "" {
		return false, nil
	}
	namespace := appcache.NamespaceMetadata()
	if err := b.client.Get(ctx, client.ObjectKey{Name: b.options.Namespace}, namespace, client.UnsafeDisableDeepCopy); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	r, err := decide.ParseOverride(namespace.Annotations[contract.DeletionBudgetAnnotation], "", b.now())
	return r.Effect == decide.Approve && err == nil, nil
}

func (b *Budget) restoreOnce(ctx context.Context) error {
	b.mu.Lock()
	restored := b.restored
	b.mu.Unlock()
	if restored {
		return nil
	}
	return b.restore(ctx)
}

// restore loads the stored state. The annotation of an existing ApplicationSet takes precedence.
func (b *Budget) restore(ctx context.Context) error {
	m, err := b.store.load(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	first := !b.restored
	b.ledger.restore(m.records, m.notes, b.now(), b.options.Grace)
	for g, stored := range m.sets {
		if _, known := b.sets[g]; !known {
			b.sets[g] = stored
		}
	}
	b.restored = true
	holds := b.ledger.allHolds()
	b.mu.Unlock()
	if !first {
		return nil
	}
	b.reporter.assume(holds)
	for g := range m.sets {
		set := argocd.ApplicationSetMetadata()
		err := b.client.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: g.Set}, set, client.UnsafeDisableDeepCopy)
		if err == nil {
			b.Observe(set)
		} else if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// save stores the result of an evaluation before it takes effect. Other changes are stored every
// ten seconds at most. It returns the delay until they have to be stored, or 0 without such
// changes.
func (b *Budget) save(ctx context.Context, j *evaluation) (time.Duration, error) {
	now := b.now()
	b.mu.Lock()
	due, waits := b.due()
	if (j == nil || !j.changed) && (!waits || now.Before(due)) {
		b.mu.Unlock()
		if waits {
			return due.Sub(now), nil
		}
		return 0, nil
	}
	m := memory{records: b.ledger.records}
	m.notes, m.essential = b.ledger.stored()
	if j != nil {
		m.records = j.records
		for _, e := range j.allow {
			b.ledger.allow(m, e)
		}
	}
	concerned := b.ledger.groups()
	b.sets.prune(now, func(g decide.Group) bool { return !b.prepared || concerned[short(g)] || b.exists(ctx, g) })
	m.sets = maps.Clone(b.sets)
	said, dirty := b.setsChanged, b.dirty
	b.setsChanged, b.dirty = false, time.Time{}
	b.mu.Unlock()
	err := b.store.save(ctx, m, now)
	if err == nil {
		return 0, nil
	}
	b.mu.Lock()
	b.setsChanged, b.dirty = b.setsChanged || said, later(b.dirty, dirty)
	b.mu.Unlock()
	return 0, errors.Join(err, b.restore(ctx)) // another leader may have written
}

// exists reports whether the cache has an ApplicationSet, or cannot be read.
func (b *Budget) exists(ctx context.Context, set decide.Group) bool {
	key := client.ObjectKey{Namespace: set.Namespace, Name: set.Set}
	return !apierrors.IsNotFound(b.client.Get(ctx, key, argocd.ApplicationSetMetadata(), client.UnsafeDisableDeepCopy))
}

// due returns when the next unsaved change has to be stored. waits is false if all changes are
// stored.
func (b *Budget) due() (at time.Time, waits bool) {
	at = b.store.last.Add(saveEvery)
	if !b.setsChanged {
		at = later(at, b.dirty.Add(saveEvery)) // a permission that moves returns within a moment
	}
	return at, b.setsChanged || !b.dirty.IsZero()
}
