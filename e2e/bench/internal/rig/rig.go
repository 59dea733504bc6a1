// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig contains the hub, the load and the binaries that the benchmark measures.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

const (
	// SearchToken is resourcesync's token for search.
	SearchToken = "bench"
	// baselineSpread is the number of namespaces of the baseline. They correspond to clusters.
	baselineSpread = 10
)

// Options are the settings of a run.
type Options struct {
	Size Size
	// Progress receives a line for each event.
	Progress func(line string)
	// Only are the keys of the phases to run after the fleet exists. Empty means all phases.
	Only []string
}

// Rig is a run of the benchmark, with the state that the figures share.
type Rig struct {
	Options
	Began   time.Time
	Folder  string
	Audit   *audit.Log
	Results *figure.Results

	Load    *Load
	Product *Product
	// Empty is the memory of the binaries before the first Application.
	Empty map[string]process.Usage
	// Baseline is the ManifestWorks of the baseline. No binary delivers or mirrors them.
	Baseline Baseline
}

// Followers are the binaries that watch the hub. Binaries are all binaries of the product.
var (
	Followers = []string{env.Propagation, env.Aggregation}
	Binaries  = append(Followers[:2:2], env.ResourceSync)
)

// Start starts the hub and search, and none of the product's binaries.
func (b *Rig) Start(ctx context.Context) {
	path := func(name string) string { return filepath.Join(b.Folder, name) }
	must.OK(os.WriteFile(path("audit-policy.json"), must.Get(audit.Policy(env.ProductNamespace, BaselineNamespaces())), 0o600))
	must.OK(os.WriteFile(path("search.token"), []byte(SearchToken), 0o600))
	b.Product = &Product{tokenFile: path("search.token")}
	b.Product.Fleet = must.Get(env.Start(ctx, env.Options{
		HubOnly: true, Product: []string{}, Progress: b.Progress, APIServerEnvironment: b.Size.APIServer,
		APIServer: []string{"--audit-policy-file=" + path("audit-policy.json"), "--audit-log-path=" + path("audit.log"), "--audit-log-maxsize=100000"},
	}))
	b.Audit = audit.Open(path("audit.log"))
	b.Load = newLoad(must.Get(hub.New(b.Product.Fleet.Hub.Config)), b.Size)
	b.Product.Search = must.Get(search.Start(ctx, search.Options{
		Dir: b.Folder, Source: memory.Fleet{}, Reviewer: access.Tokens{SearchToken: {AllManaged: true}},
	}))
}

// Close stops everything that [Rig.Start] started.
func (b *Rig) Close() (err error) {
	if b.Product == nil {
		return nil
	}
	if b.Product.Search != nil {
		err = b.Product.Search.Close()
	}
	if b.Audit != nil {
		err = errors.Join(err, b.Audit.Close())
	}
	if b.Product.Fleet != nil {
		err = errors.Join(err, b.Product.Fleet.Stop())
	}
	return err
}

// Say passes a line with the time since the start to [Options.Progress].
func (b *Rig) Say(format string, args ...any) {
	b.Progress(fmt.Sprintf("%6.1fs  ", time.Since(b.Began).Seconds()) + fmt.Sprintf(format, args...))
}

// Row adds a figure and prints it.
func (b *Rig) Row(r figure.Row) {
	b.Results.Rows = append(b.Results.Rows, r)
	b.Say("  %s: %s %s %s (%s)", r.What, figure.Number(r.Value), r.Unit, r.Verdict(), r.Beside)
}

// AtMost returns a figure with an upper limit and a text about its baseline.
func AtMost(target float64, unit, what string, value float64, beside string, args ...any) figure.Row {
	return figure.Row{What: what, Value: value, Unit: unit, Comparison: figure.AtMost, Target: target, Beside: fmt.Sprintf(beside, args...)}
}

// Only removes the target of a row unless has is true.
func Only(has bool, r figure.Row) figure.Row {
	if !has {
		r.Comparison, r.Target = figure.Informative, 0
	}
	return r
}

// AwaitNoWrites waits until the product has written nothing for the given time.
func (b *Rig) AwaitNoWrites(ctx context.Context, silence time.Duration) {
	began := time.Now()
	must.OK(env.WaitFor(ctx, Patience, "the product to write nothing", func(context.Context) (bool, string) {
		last := b.Audit.Last(Write)
		if last.Before(began) {
			last = began
		}
		return time.Since(last) > silence, "last write at " + last.String()
	}))
}

// AwaitStatuses waits until every hub Application has the status that its managed cluster reported.
func (b *Rig) AwaitStatuses(ctx context.Context) {
	b.AwaitNoWrites(ctx, Silence)
	must.OK(env.WaitFor(ctx, Patience, "every hub Application to have the reported status", func(ctx context.Context) (bool, string) {
		wrong, example, err := b.wrong(ctx)
		return err == nil && wrong == 0, fmt.Sprintf("%d of %d differ: %s %v", wrong, len(b.Load.Apps), example, err)
	}))
}

// wrong counts the hub Applications with a status that differs from the reported status, and returns an
// example.
func (b *Rig) wrong(ctx context.Context) (count int, example string, err error) {
	var list struct {
		Items []struct {
			Metadata metadata `json:"metadata"`
			Status   struct {
				Health struct{ Status string }           `json:"health"`
				Sync   struct{ Status, Revision string } `json:"sync"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := b.Load.Hub.Get(ctx, simulate.Applications, &list); err != nil {
		return 0, "", err
	}
	found := make(map[string]simulate.Feedback, len(list.Items))
	for i := range list.Items {
		s := &list.Items[i].Status
		found[list.Items[i].Metadata.Name] = simulate.Feedback{Health: s.Health.Status, Sync: s.Sync.Status, Revision: s.Sync.Revision}
	}
	for _, a := range b.Load.Apps {
		want := simulate.Healthy(a.Revision)
		if a.Revision == "" {
			want = simulate.Feedback{Health: "Unknown", Sync: "Unknown"}
		}
		if got := found[a.Name()]; got != want {
			count++
			example = fmt.Sprintf("%s is %+v, want %+v", a.Name(), got, want)
		}
	}
	return count, example, nil
}

// Write matches requests that change an object of the fleet.
func Write(e *audit.Entry) bool { return e.Write(env.ProductNamespace) }

// By matches the successful requests of a binary for a verb and a resource.
func By(binary, verb, resource string) func(*audit.Entry) bool {
	return func(e *audit.Entry) bool {
		return e.Account == env.Account(binary) && e.Verb == verb && e.Resource == resource && e.Code < 300
	}
}

// These requests are the main work of the product.
var (
	Creations = By(env.Propagation, "create", "manifestworks")
	Mirrors   = By(env.Propagation, "patch", "applications")
	Reports   = By(env.Aggregation, "update", "multiclusterapplicationsetreports")
)

// Await waits until the log has n matching requests since a mark.
func (b *Rig) Await(ctx context.Context, what string, mark, n int, match func(*audit.Entry) bool) []audit.Entry {
	var found []audit.Entry
	must.OK(env.WaitFor(ctx, Patience, what, func(context.Context) (bool, string) {
		var err error
		found, err = b.Audit.Since(mark, match)
		return err == nil && len(found) >= n, fmt.Sprintf("%d of %d, %v", len(found), n, err)
	}))
	return found
}

// Since returns the matching requests since a mark.
func (b *Rig) Since(mark int, match func(*audit.Entry) bool) []audit.Entry {
	return must.Get(b.Audit.Since(mark, match))
}

// Kinds returns the number of requests of each kind, as the end of a text.
func Kinds(entries []audit.Entry) string {
	count := map[string]int{}
	for i := range entries {
		count[fmt.Sprintf("%s %s %d", entries[i].Verb, entries[i].Resource, entries[i].Code)]++
	}
	if len(count) == 0 {
		return ""
	}
	return fmt.Sprintf("; %v", count)
}

// Span returns the first and the last moment of requests.
func Span(entries []audit.Entry) (first, last time.Time) {
	for i := range entries {
		if i == 0 || entries[i].Done.Before(first) {
			first = entries[i].Done
		}
		if entries[i].Done.After(last) {
			last = entries[i].Done
		}
	}
	return first, last
}

// Baseline measures the limit of the API server alone. Its ManifestWorks have the same bytes as
// propagation's, without the labels by which the product would select them.
type Baseline struct {
	Template map[string]any
	Works    int
	Created  Throughput
	Patched  Throughput
}

// BaselineNamespaces returns the namespaces of the baseline.
func BaselineNamespaces() (names []string) {
	for i := range baselineSpread {
		names = append(names, BaselineNamespace(i))
	}
	return names
}

// BaselineNamespace returns the namespace of the i-th ManifestWork of the baseline.
func BaselineNamespace(i int) string { return fmt.Sprintf("base-%d", i%baselineSpread) }
