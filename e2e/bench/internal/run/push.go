// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// pushes are the numbers of Applications that a push affects, each with a limit in seconds. Within the limit
// the hub has to show the result of the last Application.
var pushes = []struct {
	applications int
	seconds      float64
}{{500, 15}, {5000, 60}}

// push requests a refresh of Applications, one after the other, as Argo CD's API server does for a
// push to their repository. It measures the time until the last hub Application has the new
// revision and no refresh. The simulated clusters answer at once.
func push(ctx context.Context, b *rig.Rig) {
	must.OK(b.Load.LearnWorks(ctx))
	for _, p := range pushes {
		n := min(p.applications, len(b.Load.Apps))
		pushTo(ctx, b, b.Load.Apps[:n], p.seconds)
		if n < p.applications {
			break
		}
	}
	must.OK(b.Load.LearnWorks(ctx))
}

func pushTo(ctx context.Context, b *rig.Rig, apps []*rig.Application, seconds float64) {
	b.AwaitNoWrites(ctx, rig.Silence)
	r := &pushed{bench: b, revision: b.Load.NextRevision(), apps: map[string]*rig.Application{}, left: map[string]bool{}, answered: map[string]string{}}
	for _, a := range apps {
		r.apps[a.Name()], r.left[a.Name()] = a, true
		a.Revision = r.revision
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	must.Get(b.Load.Hub.Watch(watching, simulate.Works, func(e hub.Event, _ time.Time) { r.work(watching, e.Object) }))
	must.Get(b.Load.Hub.Watch(watching, simulate.Applications, func(e hub.Event, arrived time.Time) { r.application(e.Object, arrived) }))
	mark, began := b.Audit.Mark(), time.Now()
	for _, a := range apps {
		must.OK(b.Load.Hub.Merge(ctx, simulate.Applications+"/"+a.Name(), simulate.Refresh()))
	}
	sent := time.Since(began)
	must.OK(env.WaitFor(ctx, rig.Patience, "every hub Application to have what was pushed", r.over))
	took := r.last.Sub(began)
	b.AwaitNoWrites(ctx, rig.Silence)
	works, writes := len(b.Since(mark, rig.By(env.Propagation, "patch", "manifestworks"))), len(b.Since(mark, rig.Mirrors))
	b.Row(rig.AtMost(seconds, "s", fmt.Sprintf("a push to the repository of %d Applications, until the last says so on the hub", len(apps)), took.Seconds(),
		"the last was asked for after %s; clusters answer at once", rig.Round(sent)))
	b.Row(rig.AtMost(3.05, "", "writes of propagation for each of them", float64(works+writes)/float64(len(apps)),
		"%d of ManifestWorks, %d of Applications, with the new status", works, writes))
}

// pushed is a running push. It acts as the managed clusters and records which hub Applications have the
// result.
type pushed struct {
	bench    *rig.Rig
	revision string

	mu   sync.Mutex
	apps map[string]*rig.Application
	left map[string]bool
	// answered are the requests that the simulated clusters have answered, by Application.
	answered map[string]string
	last     time.Time
	failed   error
}

func (r *pushed) over(context.Context) (bool, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left) == 0 && r.failed == nil, fmt.Sprintf("%d are left, %v", len(r.left), r.failed)
}

func (r *pushed) work(ctx context.Context, raw json.RawMessage) {
	var work struct {
		Metadata struct {
			Generation  int64             `json:"generation"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &work) != nil {
		return
	}
	name, id := work.Metadata.Annotations[contract.HubNameAnnotation], work.Metadata.Annotations[contract.RequestAnnotation]
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.apps[name]
	if a == nil || id == "" || r.answered[name] == id {
		return
	}
	r.answered[name], a.Generation = id, work.Metadata.Generation
	feedback := simulate.Healthy(r.revision)
	feedback.Request = id
	status := simulate.WorkStatus(a.Set, a.Cluster, a.Generation, feedback)
	go func() {
		if err := r.bench.Load.Hub.Merge(ctx, a.Path()+"/status", status); err != nil && ctx.Err() == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.failed = err
		}
	}()
}

func (r *pushed) application(raw json.RawMessage, arrived time.Time) {
	var app struct {
		Metadata struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Status struct {
			Sync struct{ Revision string } `json:"sync"`
		} `json:"status"`
	}
	if json.Unmarshal(raw, &app) != nil || app.Status.Sync.Revision != r.revision || app.Metadata.Annotations[argocd.RefreshAnnotation] != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left[app.Metadata.Name] {
		delete(r.left, app.Metadata.Name)
		r.last = arrived
	}
}
