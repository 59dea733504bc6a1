// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// pushes are how many Applications come from the repository that is pushed to, and in how
// many seconds the last one is to say so on the hub.
var pushes = []struct {
	applications int
	seconds      float64
}{{500, 15}, {5000, 60}}

// push asks Applications for a refresh, one after the other as Argo CD's API server does
// for a push to the repository that they come from, and times it until the last hub
// Application has the new revision and the refresh is gone. The edge answers at once.
func push(ctx context.Context, b *bench) error {
	if err := b.learnWorks(ctx); err != nil {
		return err
	}
	for _, p := range pushes {
		n := min(p.applications, len(b.apps))
		if err := pushTo(ctx, b, b.apps[:n], p.seconds); err != nil {
			return err
		}
		if n < p.applications {
			break
		}
	}
	return b.learnWorks(ctx)
}

func pushTo(ctx context.Context, b *bench, apps []*application, seconds float64) error {
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	r := &pushed{bench: b, revision: b.nextRevision(), apps: map[string]*application{}, left: map[string]bool{}, answered: map[string]string{}}
	for _, a := range apps {
		name := simulate.ApplicationName(a.set, a.cluster)
		r.apps[name], r.left[name] = a, true
		a.revision = r.revision
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := r.follow(watching); err != nil {
		return err
	}
	mark, began := b.audit.Mark(), time.Now()
	for _, a := range apps {
		if err := b.hub.Merge(ctx, simulate.Applications+"/"+simulate.ApplicationName(a.set, a.cluster), simulate.Refresh()); err != nil {
			return err
		}
	}
	sent := time.Since(began)
	if err := env.WaitFor(ctx, patience, "every hub Application to have what was pushed", r.over); err != nil {
		return err
	}
	took := r.last.Sub(began)
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	works, err := b.audit.Since(mark, by(env.Propagation, "patch", "manifestworks"))
	if err != nil {
		return err
	}
	writes, err := b.audit.Since(mark, by(env.Propagation, "patch", "applications"))
	if err != nil {
		return err
	}
	b.row(figure.Row{
		What:  fmt.Sprintf("a push to the repository of %d Applications, until the last says so on the hub", len(apps)),
		Value: took.Seconds(), Unit: "s", Comparison: figure.AtMost, Target: seconds,
		Beside: fmt.Sprintf("the last was asked for after %s; clusters answer at once", round(sent)),
	})
	b.row(figure.Row{
		What: "writes of propagation for each of them", Value: float64(len(works)+len(writes)) / float64(len(apps)), Comparison: figure.AtMost, Target: 3.05,
		Beside: fmt.Sprintf("%d of ManifestWorks, %d of Applications, with the new status", len(works), len(writes)),
	})
	return nil
}

// pushed is a push under way.
type pushed struct {
	*bench
	revision string

	mu   sync.Mutex
	apps map[string]*application
	left map[string]bool
	// answered are the requests that the edge has answered, by Application.
	answered map[string]string
	last     time.Time
	failed   error
}

func (r *pushed) over(context.Context) (bool, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left) == 0 && r.failed == nil, fmt.Sprintf("%d are left, %v", len(r.left), r.failed)
}

// follow plays the managed clusters, and notes which hub Applications are through.
func (r *pushed) follow(ctx context.Context) error {
	if _, err := r.hub.Watch(ctx, simulate.Works, func(e hub.Event, _ time.Time) { r.work(ctx, e.Object) }); err != nil {
		return err
	}
	_, err := r.hub.Watch(ctx, simulate.Applications, func(e hub.Event, arrived time.Time) { r.application(e.Object, arrived) })
	return err
}

func (r *pushed) work(ctx context.Context, raw json.RawMessage) {
	var work struct {
		Metadata struct {
			Generation  int64             `json:"generation"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if decode(raw, &work) != nil {
		return
	}
	name, id := work.Metadata.Annotations[contract.HubNameAnnotation], work.Metadata.Annotations[contract.RequestAnnotation]
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.apps[name]
	if a == nil || id == "" || r.answered[name] == id {
		return
	}
	r.answered[name], a.generation = id, work.Metadata.Generation
	feedback := simulate.Healthy(r.revision)
	feedback.Request = id
	status := simulate.WorkStatus(a.set, a.cluster, a.generation, feedback)
	go func() {
		if err := r.hub.Merge(ctx, simulate.WorksIn(a.cluster)+"/"+a.work+"/status", status); err != nil && ctx.Err() == nil {
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
	if decode(raw, &app) != nil || app.Status.Sync.Revision != r.revision || app.Metadata.Annotations[argocd.RefreshAnnotation] != "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left[app.Metadata.Name] {
		delete(r.left, app.Metadata.Name)
		r.last = arrived
	}
}
