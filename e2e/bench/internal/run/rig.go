// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

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
	// searchToken is the token of resourcesync for search.
	searchToken = "bench"
	// baselineSpread is over how many namespaces, as over clusters.
	baselineSpread = 10
)

// Options say what to run.
type Options struct {
	Size Size
	// Progress gets a line for each thing that happens.
	Progress func(line string)
	// Only are the phases to run once the fleet is there, by their keys; none: all.
	Only []string
}

// bench is a run: what is measured, and what the figures share.
type bench struct {
	Options
	began   time.Time
	folder  string
	audit   *audit.Log
	results *figure.Results

	load    *load
	product *product
	// empty is the memory of the binaries before there was an Application.
	empty map[string]process.Usage
	// works that the baseline writes; no binary delivers or mirrors them
	baseline baseline
}

// binaries of the product; followers are those that follow the hub.
var (
	followers = []string{env.Propagation, env.Aggregation}
	binaries  = append(followers[:2:2], env.ResourceSync)
)

// start starts the hub and search; none of the product's binaries runs yet.
func (b *bench) start(ctx context.Context) {
	path := func(name string) string { return filepath.Join(b.folder, name) }
	must.OK(os.WriteFile(path("audit-policy.json"), must.Get(audit.Policy(env.ProductNamespace, baselineNamespaces())), 0o600))
	must.OK(os.WriteFile(path("search.token"), []byte(searchToken), 0o600))
	b.product = &product{tokenFile: path("search.token")}
	b.product.fleet = must.Get(env.Start(ctx, env.Options{
		HubOnly: true, Product: []string{}, Progress: b.Progress, APIServerEnvironment: b.Size.APIServer,
		APIServer: []string{"--audit-policy-file=" + path("audit-policy.json"), "--audit-log-path=" + path("audit.log"), "--audit-log-maxsize=100000"},
	}))
	b.audit = audit.Open(path("audit.log"))
	b.load = newLoad(must.Get(hub.New(b.product.fleet.Hub.Config)), b.Size)
	b.product.search = must.Get(search.Start(ctx, search.Options{
		Dir: b.folder, Source: memory.Fleet{}, Reviewer: access.Tokens{searchToken: {AllManaged: true}},
	}))
}

func (b *bench) close() (err error) {
	if b.product == nil {
		return nil
	}
	if b.product.search != nil {
		err = b.product.search.Close()
	}
	if b.audit != nil {
		err = errors.Join(err, b.audit.Close())
	}
	if b.product.fleet != nil {
		err = errors.Join(err, b.product.fleet.Stop())
	}
	return err
}

func (b *bench) say(format string, args ...any) {
	b.Progress(fmt.Sprintf("%6.1fs  ", time.Since(b.began).Seconds()) + fmt.Sprintf(format, args...))
}

// row adds a figure and says it.
func (b *bench) row(r figure.Row) {
	b.results.Rows = append(b.results.Rows, r)
	b.say("  %s: %s %s %s (%s)", r.What, figure.Number(r.Value), r.Unit, r.Verdict(), r.Beside)
}

// atMost is a figure with the most that it may be, and what it was measured beside.
func atMost(target float64, unit, what string, value float64, beside string, args ...any) figure.Row {
	return figure.Row{What: what, Value: value, Unit: unit, Comparison: figure.AtMost, Target: target, Beside: fmt.Sprintf(beside, args...)}
}

// only leaves a row its target when there is one for what was run.
func only(has bool, r figure.Row) figure.Row {
	if !has {
		r.Comparison, r.Target = figure.Informative, 0
	}
	return r
}

// awaitNoWrites waits until the product has written nothing for a while.
func (b *bench) awaitNoWrites(ctx context.Context, silence time.Duration) {
	began := time.Now()
	must.OK(env.WaitFor(ctx, patience, "the product to write nothing", func(context.Context) (bool, string) {
		last := b.audit.Last(write)
		if last.Before(began) {
			last = began
		}
		return time.Since(last) > silence, "last write at " + last.String()
	}))
}

// awaitStatuses waits until every hub Application has what its managed cluster reported.
func (b *bench) awaitStatuses(ctx context.Context) {
	b.awaitNoWrites(ctx, silence)
	must.OK(env.WaitFor(ctx, patience, "every hub Application to have the reported status", func(ctx context.Context) (bool, string) {
		wrong, example, err := b.wrong(ctx)
		return err == nil && wrong == 0, fmt.Sprintf("%d of %d differ: %s %v", wrong, len(b.load.apps), example, err)
	}))
}

// wrong counts the hub Applications whose status is not what was reported.
func (b *bench) wrong(ctx context.Context) (count int, example string, err error) {
	var list struct {
		Items []struct {
			Metadata metadata `json:"metadata"`
			Status   struct {
				Health struct{ Status string }           `json:"health"`
				Sync   struct{ Status, Revision string } `json:"sync"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := b.load.hub.Get(ctx, simulate.Applications, &list); err != nil {
		return 0, "", err
	}
	found := make(map[string]simulate.Feedback, len(list.Items))
	for i := range list.Items {
		s := &list.Items[i].Status
		found[list.Items[i].Metadata.Name] = simulate.Feedback{Health: s.Health.Status, Sync: s.Sync.Status, Revision: s.Sync.Revision}
	}
	for _, a := range b.load.apps {
		want := simulate.Healthy(a.revision)
		if a.revision == "" {
			want = simulate.Feedback{Health: "Unknown", Sync: "Unknown"}
		}
		if got := found[a.name()]; got != want {
			count++
			example = fmt.Sprintf("%s is %+v, want %+v", a.name(), got, want)
		}
	}
	return count, example, nil
}

// write matches requests that change something of the fleet's.
func write(e *audit.Entry) bool { return e.Write(env.ProductNamespace) }

// by matches the successful requests of a binary for a verb and a resource.
func by(binary, verb, resource string) func(*audit.Entry) bool {
	return func(e *audit.Entry) bool {
		return e.Account == env.Account(binary) && e.Verb == verb && e.Resource == resource && e.Code < 300
	}
}

// Requests by which the product does its work.
var (
	creations = by(env.Propagation, "create", "manifestworks")
	mirrors   = by(env.Propagation, "patch", "applications")
	reports   = by(env.Aggregation, "update", "multiclusterapplicationsetreports")
)

// await waits until the log has n requests that match since a mark.
func (b *bench) await(ctx context.Context, what string, mark, n int, match func(*audit.Entry) bool) []audit.Entry {
	var found []audit.Entry
	must.OK(env.WaitFor(ctx, patience, what, func(context.Context) (bool, string) {
		var err error
		found, err = b.audit.Since(mark, match)
		return err == nil && len(found) >= n, fmt.Sprintf("%d of %d, %v", len(found), n, err)
	}))
	return found
}

// since returns the requests since a mark that match.
func (b *bench) since(mark int, match func(*audit.Entry) bool) []audit.Entry {
	return must.Get(b.audit.Since(mark, match))
}

// kinds says what requests were, and how many of each, behind other text.
func kinds(entries []audit.Entry) string {
	count := map[string]int{}
	for i := range entries {
		count[fmt.Sprintf("%s %s %d", entries[i].Verb, entries[i].Resource, entries[i].Code)]++
	}
	if len(count) == 0 {
		return ""
	}
	return fmt.Sprintf("; %v", count)
}

// span returns the first and the last moment of requests.
func span(entries []audit.Entry) (first, last time.Time) {
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

// baseline is what the API server alone can do: ManifestWorks with the same bytes as propagation's, less
// the labels by which the product would see them.
type baseline struct {
	template map[string]any
	works    int
	created  throughput
	patched  throughput
}

func baselineNamespaces() (names []string) {
	for i := range baselineSpread {
		names = append(names, baselineNamespace(i))
	}
	return names
}

func baselineNamespace(i int) string { return fmt.Sprintf("base-%d", i%baselineSpread) }
