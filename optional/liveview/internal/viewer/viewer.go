// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package viewer is the viewer of the hub: it finds which pulled Applications are open in
// argocd-server, requests their views of their clusters, and writes them to Argo CD's Redis.
package viewer

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Options of a [Viewer].
type Options struct {
	// ArgoCDNamespace is Argo CD's namespace on the hub, Observer the observers' on managed
	// clusters.
	ArgoCDNamespace, Observer string
	// Keep is how long a view stays after it was last open, at most.
	Keep time.Duration
	// MaxOpen is how many views there are at a time; one cluster has half of them at most.
	MaxOpen int
	// Recheck is after how long an open Application, its work and its cluster are read again;
	// 0: ten seconds.
	Recheck time.Duration
	// Outdated is after how long without a sign of the observer a view says that it is old;
	// 0: two minutes.
	Outdated time.Duration
}

// How often, and how many.
const (
	interval = 100 * time.Millisecond
	// parallel is how many views are worked on at a time, and parallelWorks how many
	// ManifestWorks: each may have a MiB of views.
	parallel, parallelWorks = 16, 4
	recheck                 = 10 * time.Second
	// outdated is two of the observer's minutes and some time on the way.
	outdated = 150 * time.Second
	// rewrite is after how long Redis is written again at most, so that nothing expires that is
	// open. After a change it is firstRewrite, then twice as long each time: a page that has a
	// tree shows none again when its own first request, which began before, fails later.
	rewrite      = time.Minute
	firstRewrite = time.Second
	// sweeps is how many times in [Options.Keep] what is not open any more is removed.
	sweeps = 5
	// expiration is how long Redis keeps a view that no viewer removes.
	expiration = 5 * time.Minute
)

// Viewer is one loop; all its memory is in entries and sent. What is done in parallel in it
// has one entry each.
type Viewer struct {
	Options
	// Client reads the metadata of ManifestWorks with [request.Label] from a cache; Live reads
	// nothing from one.
	Client client.Client
	Live   client.Reader
	// Metadata watches Applications.
	Metadata metadata.Interface
	Redis    *argoredis.Redis
	Log      logr.Logger

	entries   entries
	sent      map[client.ObjectKey]sent
	refreshed chan string // instances that argocd-server refreshes
	swept     time.Time
	full      bool       // an Application that is open has no room
	decoding  sync.Mutex // one view at a time: what it takes is bounded
}

// entries are Applications by the name that Argo CD has for them.
type entries map[string]*entry

type entry struct {
	open     bool      // a page has it open
	seen     time.Time // when one had, or argocd-server refreshed it; zero: not since the start
	checked  time.Time // when target was last read
	target   *target   // nil: it has no view
	work     string    // name of the ManifestWork that requests the view; "": none
	alone    bool      // that one requests no other
	answered bool      // its cluster has sent a view
	problem  string    // what was last logged
	shown    string    // resource version of the work whose view was last shown
	renewed  int64     // what the observer last said of its clock, and when that came
	heard    time.Time
	written  [32]byte  // digest of the view and the notes that Redis has
	due      time.Time // when Redis is written again, changed or not
	next     time.Duration
	status   string // the status that the hub Application has from here; "": none
}

// unknownStatus is that of an Application that an earlier viewer may have written.
const unknownStatus = "unknown"

// each calls do for the entries that pass, some at a time, and returns when all is done.
func (all entries) each(pass func(*entry) bool, do func(instance string, e *entry)) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for instance, e := range all {
		if pass(e) {
			group.Go(func() error { do(instance, e); return nil })
		}
	}
	_ = group.Wait() // none fails
}

// NeedLeaderElection is true: two viewers would remove each other's requests.
func (v *Viewer) NeedLeaderElection() bool { return true }

// Start works until ctx ends. What is open then stays for the next one, which removes it when
// it is not open any more.
func (v *Viewer) Start(ctx context.Context) error {
	v.Recheck, v.Outdated = cmp.Or(v.Recheck, recheck), cmp.Or(v.Outdated, outdated)
	if err := v.resume(ctx, time.Now()); err != nil {
		return err
	}
	v.refreshed = make(chan string, v.MaxOpen)
	go wait.UntilWithContext(ctx, v.watchRefreshes, recheck)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failed := ""
	for {
		err := v.pass(ctx, time.Now())
		if text := fmt.Sprint(err); text != failed {
			failed = text
			if err != nil && ctx.Err() == nil {
				v.Log.Error(err, "cannot show the Applications that are open")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// resume continues with the works of a viewer that was stopped. Of what they request only what
// is delivered to their cluster counts: an agent can change its works. Nothing of it is shown
// before a page is open, and the status of each is taken back.
func (v *Viewer) resume(ctx context.Context, now time.Time) error {
	v.entries, v.sent = entries{}, map[client.ObjectKey]sent{}
	works, err := v.list(ctx)
	for key := range works {
		work, err := read(ctx, v.Live, key)
		if err != nil {
			return err
		}
		if work == nil {
			continue
		}
		applications, _ := request.ApplicationsOf(work) // one that cannot be read is deleted
		views, _ := request.ViewsOf(work)               // of one that cannot be read nothing is kept
		v.sent[key] = sent{applications: applications, generation: work.Generation}
		for instance := range applications {
			e := v.entry(instance)
			e.status = unknownStatus
			v.check(ctx, instance, e, now)
			if e.target != nil && e.target.cluster == key.Namespace {
				e.work, e.answered = key.Name, len(views[instance].Blob) > 0
			}
		}
	}
	return err
}

// pass does once what is to be done for what is open. Where several are opened at a time the
// requests to each cluster are one write.
func (v *Viewer) pass(ctx context.Context, now time.Time) error {
	watched, err := v.Redis.Watched(ctx)
	if err != nil {
		return err
	}
	v.receive(watched, now)
	room := v.open(now) < v.MaxOpen
	v.entries.each(func(e *entry) bool {
		wanted := e.open || e.work == "" && now.Sub(e.seen) < v.Keep || e.target == nil && e.status != ""
		return now.Sub(e.checked) >= v.Recheck && wanted && (room || e.work != "" || e.status != "")
	}, func(instance string, e *entry) { v.check(ctx, instance, e, now) })
	if now.Sub(v.swept) >= v.Keep/sweeps {
		v.swept = now
		v.sweep(ctx, now)
	}
	works, err := v.list(ctx)
	if err != nil {
		return err
	}
	v.assign(works, now)
	err = v.request(ctx, works, now)
	var group errgroup.Group
	group.SetLimit(parallelWorks)
	for key, work := range works {
		if own := v.entries.toShow(key, work, v.Keep, now); len(own) > 0 {
			group.Go(func() error { v.show(ctx, key, own, now); return nil })
		}
	}
	_ = group.Wait() // none fails
	return err
}

// receive notes which Applications are open, and for which argocd-server asks; what is only
// refreshed is left out where there is no room for it.
func (v *Viewer) receive(watched map[string]string, now time.Time) {
	for _, e := range v.entries {
		e.open = false
	}
	for instance, version := range watched {
		e := v.entry(instance)
		if version != view.CacheVersion {
			v.report(e, instance, fmt.Sprintf("the hub's argocd-server has cache version %q, %s is known: nothing is written; update liveview", version, view.CacheVersion))
			continue
		}
		e.open, e.seen = true, now
	}
	used := v.open(now)
	for len(v.refreshed) > 0 {
		instance := <-v.refreshed
		if v.entries[instance] == nil {
			if used++; used > v.MaxOpen {
				continue
			}
		}
		v.entry(instance).seen = now
	}
}

// open returns how many Applications have or await a view that somebody looks at.
func (v *Viewer) open(now time.Time) (n int) {
	for _, e := range v.entries {
		if (e.work != "" || !e.open) && now.Sub(e.seen) < v.Keep {
			n++
		}
	}
	return n
}

// entry returns that of an instance.
func (v *Viewer) entry(instance string) *entry {
	e := v.entries[instance]
	if e == nil {
		e = &entry{}
		v.entries[instance] = e
	}
	return e
}

// check reads where an open Application runs.
func (v *Viewer) check(ctx context.Context, instance string, e *entry, now time.Time) {
	e.checked = now
	next, reason, err := v.find(ctx, instance)
	if err == nil && e.target != nil && !e.target.is(next) {
		// It is delivered elsewhere, or not any more: what is shown is not its own.
		err = v.remove(ctx, instance, e)
	}
	if err == nil && next == nil && e.status != "" {
		err = v.takeBack(ctx, instance, e, reason)
	}
	if err != nil {
		e.checked = now.Add(time.Second - v.Recheck) // sooner
		v.report(e, instance, err.Error())
		return
	}
	if next == nil {
		v.report(e, instance, reason.text)
	} else if e.target != nil && (e.target.note != next.note || e.target.diffs != next.diffs) {
		e.due = now
	}
	e.target = next
}

// report logs what keeps a view from being shown, once.
func (v *Viewer) report(e *entry, instance, problem string) {
	if problem != "" && problem != e.problem {
		v.Log.Info("no view, or an incomplete one", "instance", instance, "reason", problem)
	}
	e.problem = problem
}
