// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package viewer is the viewer of the hub. It finds the pulled Applications that are open in
// argocd-server, requests their views from their clusters, and writes them to Argo CD's Redis.
package viewer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// NeedLeaderElection is true: two viewers would remove each other's requests.
func (v *Viewer) NeedLeaderElection() bool { return true }

// Start works until ctx ends. Views that are open then stay for the next viewer. The next viewer
// removes them when they are not open any more.
func (v *Viewer) Start(ctx context.Context) error {
	v.Recheck, v.Outdated = cmp.Or(v.Recheck, recheck), cmp.Or(v.Outdated, outdated)
	if err := v.resume(ctx, time.Now()); err != nil {
		return err
	}
	v.refreshed = make(chan string, v.MaxOpen)
	go wait.UntilWithContext(ctx, v.watchRefreshes, recheck)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	logged := failures{}
	for {
		now := time.Now()
		if err := v.pass(ctx, now); err != nil && ctx.Err() == nil && logged.add(err, now) {
			v.Log.Error(err, "cannot show the Applications that are open")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// resume continues with the works of an earlier viewer. Only requests for Applications that are
// delivered to their cluster count, because an agent can change its works. Nothing is shown before
// a page is open, and the status of each Application is reset.
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
		applications, _ := request.ApplicationsOf(work) // a work that cannot be read is deleted
		views, _ := request.ViewsOf(work)               // and nothing of its views is kept
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

// pass does once all work for the open Applications. If several are opened at a time, the requests
// to each cluster are one write.
func (v *Viewer) pass(ctx context.Context, now time.Time) error {
	watched, err := v.Redis.Watched(ctx)
	if err != nil {
		return err
	}
	v.receive(watched, now)
	room := v.open(now) < v.MaxOpen
	v.entries.each(parallelWorks, func(e *entry) bool {
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
	// show changes entries, and toShow reads all of them. So each work has its entries before the
	// first one is shown.
	toShow := map[client.ObjectKey]entries{}
	for key, work := range works {
		if own := v.entries.toShow(key, work, v.Keep, now); len(own) > 0 {
			toShow[key] = own
		}
	}
	var group errgroup.Group
	group.SetLimit(parallelWorks)
	for key, own := range toShow {
		group.Go(func() error { v.show(ctx, key, own, now); return nil })
	}
	_ = group.Wait() // none fails
	return err
}

// receive records which Applications are open, and for which argocd-server asks. Without room for
// all, it leaves out Applications that are only refreshed.
func (v *Viewer) receive(watched map[string]string, now time.Time) {
	for _, e := range v.entries {
		e.open = false
	}
	other := ""
	for instance, version := range watched {
		if version != view.CacheVersion {
			other = max(other, version)
			continue
		}
		e := v.entry(instance)
		e.open, e.seen = true, now
	}
	if other != "" && other != v.other {
		v.other = other
		v.Log.Info(fmt.Sprintf("the hub's argocd-server has cache version %q, %s is known: nothing is written; update liveview", other, view.CacheVersion))
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

// open returns how many Applications with a reader have or await a view. The hub's own Applications
// have pages as well, but never a view.
func (v *Viewer) open(now time.Time) (n int) {
	for _, e := range v.entries {
		if (e.work != "" || !e.open && !e.ofHub) && now.Sub(e.seen) < v.Keep {
			n++
		}
	}
	return n
}

// check reads where an open Application runs.
func (v *Viewer) check(ctx context.Context, instance string, e *entry, now time.Time) {
	e.checked = now
	next, reason, err := v.find(ctx, instance)
	if err == nil && e.target != nil && !e.target.is(next) {
		// The Application is delivered elsewhere, or not any more, so the shown view does not
		// belong to it.
		if next == nil && !reason.ours {
			e.status = "" // another writer may have set the resources in its status since
		}
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
	e.ofHub = reason.ofHub
	if next == nil {
		v.report(e, instance, reason.text)
	} else if e.target != nil && (e.target.note != next.note || e.target.diffs != next.diffs) {
		e.due = now
	}
	e.target = next
}
