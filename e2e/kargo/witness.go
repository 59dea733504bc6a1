// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// witness watches the Applications of one cluster and records their content.
type witness struct {
	mu sync.Mutex
	// operations are the operations of an Application by their start time.
	operations map[string]map[string]operation
	// synced is the number of successful operations of an Application, from its history.
	synced map[string]int
	// revisions are all revisions that the content of an Application has contained.
	revisions map[string]map[string]bool
	err       error
}

// operation is an operation that a cluster has run.
type operation struct {
	Promotion, Phase string
}

// state is the part of an Application's status that the witness reads.
type state struct {
	OperationState struct {
		Phase     string `json:"phase"`
		StartedAt string `json:"startedAt"`
		Operation struct {
			Info []struct{ Name, Value string } `json:"info"`
		} `json:"operation"`
	} `json:"operationState"`
	History []struct {
		ID int `json:"id"`
	} `json:"history"`
}

var commit = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// watch watches the Applications of a cluster until ctx ends.
func watch(ctx context.Context, c *env.Cluster) (_ *witness, err error) {
	defer must.Return(&err)
	w := &witness{operations: map[string]map[string]operation{}, synced: map[string]int{}, revisions: map[string]map[string]bool{}}
	watching := must.Get(cache.New(c.Config, cache.Options{Scheme: must.Get(env.Scheme())}))
	go func() { _ = watching.Start(ctx) }() // it ends only with ctx
	informer := must.Get(watching.GetInformer(ctx, &argocd.Application{}))
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: w.see, UpdateFunc: func(_, o any) { w.see(o) },
	})
	return w, err
}

func (w *witness) see(object any) {
	app, ok := object.(*argocd.Application)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.operations[app.Name] == nil {
		w.operations[app.Name], w.revisions[app.Name] = map[string]operation{}, map[string]bool{}
	}
	for _, content := range []json.RawMessage{app.Spec, app.Operation, app.Status} {
		for _, revision := range commit.FindAllString(string(content), -1) {
			w.revisions[app.Name][revision] = true
		}
	}
	var s state
	if len(app.Status) > 0 {
		w.err = errors.Join(w.err, json.Unmarshal(app.Status, &s))
	}
	if s.OperationState.StartedAt != "" {
		w.operations[app.Name][s.OperationState.StartedAt] = operation{Promotion: promotionOf(s), Phase: s.OperationState.Phase}
	}
	for _, entry := range s.History {
		w.synced[app.Name] = max(w.synced[app.Name], entry.ID+1)
	}
}

// promotionOf returns the promotion that requested the last operation, or "" for another origin.
func promotionOf(s state) string {
	for _, info := range s.OperationState.Operation.Info {
		if info.Name == "kargo.akuity.io/promotion" {
			return info.Value
		}
	}
	return ""
}

// ran returns how often an Application has run the operation of a promotion, and the last phase.
func (w *witness) ran(app, promotion string) (times int, phase string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	must.OK(w.err)
	for _, o := range w.operations[app] {
		if o.Promotion == promotion {
			times, phase = times+1, o.Phase
		}
	}
	return times, phase
}

// all returns how many operations an Application has run, and how many of them have succeeded. It counts the
// operations by their start times, and the successful ones by their numbers in the history.
func (w *witness) all(app string) (operations, synced int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	must.OK(w.err)
	return len(w.operations[app]), w.synced[app]
}

// named reports whether an Application has ever contained a revision.
func (w *witness) named(app, revision string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	must.OK(w.err)
	return w.revisions[app][revision]
}
