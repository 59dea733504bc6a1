// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package viewer is the viewer of the hub: it finds which pulled Applications are open in
// argocd-server, requests their views of their clusters, and writes them to Argo CD's Redis.
package viewer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
}

// How often, and how many.
const (
	interval = 100 * time.Millisecond
	// parallel is how many views are worked on at a time.
	parallel = 16
	recheck  = 10 * time.Second
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

// Viewer is one loop; all its memory is in entries. What is done in parallel in it has one
// each.
type Viewer struct {
	Options
	// Client reads ManifestWorks with [request.Label] from a cache; Live reads nothing from one.
	Client client.Client
	Live   client.Reader
	// Metadata watches Applications.
	Metadata metadata.Interface
	Redis    *argoredis.Redis
	Log      logr.Logger

	entries   entries
	refreshed chan string // instances that argocd-server refreshes
	swept     time.Time
}

// entries are Applications by the name that Argo CD has for them.
type entries map[string]*entry

type entry struct {
	open    bool      // a page has it open
	seen    time.Time // when one had, or argocd-server refreshed it
	checked time.Time // when target was last read
	target  *target   // nil: it has no view
	work    string    // name of the ManifestWork that requests the view; "": none
	alone   bool      // that one requests no other
	problem string    // what was last logged
	shown   string    // resource version of the work whose view was last shown
	written [32]byte  // digest of the view and the note that Redis has
	due     time.Time // when Redis is written again, changed or not
	next    time.Duration
	status  string // the status that the hub Application has from here; "": none
}

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

// Caches returns what a Viewer's Client has to have in its cache.
func Caches() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&workv1.ManifestWork{}: {Label: labels.SelectorFromSet(labels.Set{request.Label: "true"})},
	}
}

// NeedLeaderElection is true: two viewers would remove each other's requests.
func (v *Viewer) NeedLeaderElection() bool { return true }

// Start works until ctx ends. What is open then stays for the next one, which removes it when
// it is not open any more.
func (v *Viewer) Start(ctx context.Context) error {
	v.Recheck = cmp.Or(v.Recheck, recheck)
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
// is delivered to their cluster counts: an agent can change its works.
func (v *Viewer) resume(ctx context.Context, now time.Time) error {
	v.entries = entries{}
	works, err := v.list(ctx)
	for key, work := range works {
		applications, _ := request.ApplicationsOf(work) // one that cannot be read is deleted
		for instance := range applications {
			e := &entry{seen: now, status: "unknown"}
			v.check(ctx, instance, e, now)
			if e.target != nil && e.target.cluster == key.Namespace {
				e.work = key.Name
				v.entries[instance] = e
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
	for len(v.refreshed) > 0 {
		v.entry(<-v.refreshed).seen = now
	}
	v.entries.each(func(e *entry) bool {
		return now.Sub(e.checked) >= v.Recheck && (e.open || e.work == "" && now.Sub(e.seen) < v.Keep)
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
	err = v.request(ctx, works)
	for key, work := range works {
		v.show(ctx, key, work, now)
	}
	return err
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
	if err != nil {
		e.checked = now.Add(time.Second - v.Recheck) // sooner
		v.report(e, instance, err.Error())
		return
	}
	if next == nil {
		v.report(e, instance, reason)
	} else if e.target != nil && e.target.note != next.note {
		e.due = now
	}
	e.target = next
}

// show writes the views of a ManifestWork that have come to Redis.
func (v *Viewer) show(ctx context.Context, key client.ObjectKey, work *workv1.ManifestWork, now time.Time) {
	own := entries{}
	for instance, e := range v.entries {
		if e.work != "" && e.key() == key && now.Sub(e.seen) < v.Keep && (e.shown != work.ResourceVersion || !now.Before(e.due)) {
			own[instance] = e
		}
	}
	if len(own) == 0 {
		return
	}
	views, err := request.ViewsOf(work)
	own.each(func(e *entry) bool { return e.target != nil }, func(instance string, e *entry) {
		e.shown = work.ResourceVersion
		problem := ""
		if err := errors.Join(err, v.update(ctx, instance, e, views[instance], now)); err != nil {
			problem = key.Namespace + ": " + err.Error()
		}
		v.report(e, instance, problem)
	})
}

// update writes a view to Redis.
func (v *Viewer) update(ctx context.Context, instance string, e *entry, got request.View, now time.Time) error {
	key := sha256.Sum256([]byte(string(got.Blob) + "\n" + e.target.note))
	switch {
	case got.Alone && !e.alone:
		e.work, e.alone = "", true
		return nil
	case len(got.Blob) == 0:
		e.due = now.Add(rewrite)
		if got.Message != "" {
			return errors.New(got.Message)
		}
		return nil
	case key == e.written && now.Before(e.due):
		return nil
	}
	e.due = now.Add(firstRewrite)
	decoded, err := view.Decode(got.Blob, e.target.note)
	if err != nil {
		return err
	}
	if err := v.Redis.Write(ctx, instance, decoded, expiration); err != nil {
		return err
	}
	e.next = min(2*e.next, rewrite)
	if key != e.written {
		e.next = firstRewrite
	}
	e.written, e.due = key, now.Add(e.next)
	return v.patchStatus(ctx, e, string(decoded.Status))
}

// sweep removes what is not open any more. It runs some times in [Options.Keep], so that what
// is closed one by one is removed together.
func (v *Viewer) sweep(ctx context.Context, now time.Time) {
	closed := func(e *entry) bool { return now.Sub(e.seen) >= v.Keep-v.Keep/sweeps }
	v.entries.each(func(e *entry) bool { return closed(e) && e.target != nil }, func(instance string, e *entry) {
		// The request to a cluster that is away stays, and with it the last view: it can be shown
		// until the cluster is back.
		_, away, err := v.clusterNote(ctx, e.target.cluster)
		if err == nil && !away {
			err = v.remove(ctx, instance, e)
		}
		if err != nil {
			v.report(e, instance, err.Error())
		}
	})
	maps.DeleteFunc(v.entries, func(_ string, e *entry) bool { return closed(e) && e.target == nil })
}

// remove takes a view out of Redis and the Application; its work requests it no more.
func (v *Viewer) remove(ctx context.Context, instance string, e *entry) error {
	if err := v.Redis.Remove(ctx, instance); err != nil {
		return err
	}
	if err := v.patchStatus(ctx, e, noStatus); err != nil {
		return err
	}
	*e = entry{open: e.open, seen: e.seen, checked: e.checked, problem: e.problem}
	return nil
}

// report logs what keeps a view from being shown, once.
func (v *Viewer) report(e *entry, instance, problem string) {
	if problem != "" && problem != e.problem {
		v.Log.Info("no view, or an incomplete one", "instance", instance, "reason", problem)
	}
	e.problem = problem
}
