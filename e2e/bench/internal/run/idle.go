// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

const (
	// resources is the number of resources of each Application in search.
	resources = 10
	// pollInterval is resourcesync's default poll interval.
	pollInterval = 10 * time.Second
	// aloneRounds is the number of measured polls, and of measured rounds of bare queries.
	aloneRounds = 9

	// These are resourcesync's queries as recorded. The baseline sends the same.
	queryClusters     = "query resourcesyncValues($property: String!, $query: SearchInput, $limit: Int) { searchComplete(property: $property, query: $query, limit: $limit) }"
	queryApplications = "query resourcesync($input: [SearchInput]) { searchResult: search(input: $input) { count items related { kind items } } }"
	queryBatch        = 50 // clusters in one query
	queriesInFlight   = 2
)

// searched returns the numbers of clusters and Applications in search.
func searched(b *rig.Rig) (clusters, applications int) {
	clusters = min(b.Size.SearchClusters, b.Size.Clusters)
	return clusters, clusters * b.Size.Sets
}

// idleFleet fills search, waits until its data is in the reports, and measures the fleet while nothing
// changes.
func idleFleet(ctx context.Context, b *rig.Rig) {
	clusters, applications := searched(b)
	must.OK((memory.Fleet{Clusters: clusters, Sets: b.Size.Sets, Resources: resources}).Run(ctx, b.Product.Search.Table()))
	awaitPolls(ctx, b, 2)
	b.AwaitStatuses(ctx)
	usages := b.Product.Usages(rig.Binaries...)
	for _, name := range rig.Binaries {
		u := usages[name]
		most := map[string]float64{env.Propagation: 160, env.Aggregation: 100, env.ResourceSync: 100}[name]
		b.Row(rig.Only(b.Size.PerApplication[name] == 0, rig.AtMost(most, "MiB", "memory of "+name, rig.Mebibytes(u.Resident),
			"resident at %d Applications; the most ever was %.0f MiB", len(b.Load.Apps), rig.Mebibytes(u.Peak))))
	}
	used, others := watchIdle(ctx, b, rig.Binaries...)
	first := ""
	if len(others) > 0 {
		first = fmt.Sprintf("; the first: %s %s %s", others[0].Account, others[0].Verb, others[0].Resource)
	}
	b.Row(rig.AtMost(0, "", "idle: requests other than Lease renewals and watches", float64(len(others)), "all three together in %s%s", b.Size.Idle, first))
	for _, name := range rig.Followers {
		b.Row(rig.AtMost(0.5, "%", "idle: CPU of "+name, used[name], "of a core"))
	}
	b.Row(rig.AtMost(0.5, "%", "idle: CPU of resourcesync, polling search", used[env.ResourceSync],
		"of a core; every 10 s %d Applications with %d resources, unchanged", applications, applications*resources))
}

// idleWithoutSearch measures resourcesync without a search service.
func idleWithoutSearch(ctx context.Context, b *rig.Rig) {
	must.OK(b.Product.Search.SetFaults(search.Faults{Refuse: true}))
	b.Product.Resume(ctx, env.ResourceSync)
	b.AwaitNoWrites(ctx, rig.Silence)
	used, _ := watchIdle(ctx, b, env.ResourceSync)
	b.Row(rig.AtMost(0.5, "%", "idle: CPU of resourcesync, no search service", used[env.ResourceSync], "of a core"))
}

// watchIdle waits for [rig.Size.Idle]. It returns the percentage of a core that each binary used, and the
// requests that an idle binary should not make.
func watchIdle(ctx context.Context, b *rig.Rig, names ...string) (used map[string]float64, others []audit.Entry) {
	mark, before, began := b.Audit.Mark(), b.Product.Usages(names...), time.Now()
	clock.Sleep(ctx, b.Size.Idle)
	must.OK(ctx.Err())
	took, after := time.Since(began), b.Product.Usages(names...)
	used = map[string]float64{}
	for _, name := range names {
		used[name] = 100 * float64(after[name].CPU-before[name].CPU) / float64(took)
	}
	return used, b.Since(mark, func(e *audit.Entry) bool { return e.Verb != "watch" && e.Resource != "leases" })
}

// polls returns the duration of all polls of resourcesync in seconds, and their number.
func polls(ctx context.Context, b *rig.Rig) (sum, count float64, err error) {
	values, err := b.Product.Metrics(ctx, env.ResourceSync, "resourcesync_poll_seconds_sum", "resourcesync_poll_seconds_count")
	if err != nil {
		return 0, 0, err
	}
	return values[0], values[1], nil
}

// awaitPolls waits for n more polls.
func awaitPolls(ctx context.Context, b *rig.Rig, n int) {
	_, before, err := polls(ctx, b)
	must.OK(err)
	must.OK(env.WaitFor(ctx, rig.Patience, "resourcesync to poll", func(ctx context.Context) (bool, string) {
		_, now, err := polls(ctx, b)
		return now >= before+float64(n), fmt.Sprintf("%.0f of %d, %v", now-before, n, err)
	}))
}

// searchAlone compares resourcesync's polls with the time that search itself needs for their queries. The two
// alternate, half an interval apart. So both have the same state of the machine, and one slow round does not
// decide. resourcesync's metrics are not read while it polls.
func searchAlone(ctx context.Context, b *rig.Rig) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.Product.Search.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: time.Minute}
	awaitPolls(ctx, b, 1)
	clock.Sleep(ctx, pollInterval/2)
	sum, count, err := polls(ctx, b)
	must.OK(err)
	ours, alone := []time.Duration{}, make([]time.Duration, 0, aloneRounds)
	var size int64
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for range aloneRounds {
		began := time.Now()
		size = must.Get(pollAlone(ctx, b, caller))
		alone = append(alone, time.Since(began))
		select {
		case <-ctx.Done():
			must.OK(ctx.Err())
		case <-tick.C:
		}
		sumBefore, before := sum, count
		sum, count, err = polls(ctx, b)
		must.OK(err)
		if count > before {
			ours = append(ours, time.Duration((sum-sumBefore)/(count-before)*float64(time.Second)))
		}
	}
	if len(ours) == 0 {
		must.OK(errors.New("resourcesync does not poll"))
	}
	_, applications := searched(b)
	poll, queries := rig.Median(ours), rig.Median(alone)
	row := rig.AtMost(1.3, "×", "resourcesync's poll against the bare queries", float64(poll)/float64(queries),
		"%s against %s, medians of %d and %d in turns; %d Applications × %d resources, %.1f MB",
		rig.Round(poll), rig.Round(queries), len(ours), len(alone), applications, resources, float64(size)/1e6)
	row.Noise = 1.5
	b.Row(row)
	b.Product.Halt(ctx, env.ResourceSync)
}

// pollAlone sends the queries of one poll, drops the answers and returns their size.
func pollAlone(ctx context.Context, b *rig.Rig, caller *http.Client) (int64, error) {
	filter := func(property string, values ...string) map[string]any {
		return map[string]any{"property": property, "values": values}
	}
	pulled := []any{filter("kind_plural", "applications"), filter("apigroup", "argoproj.io"), filter("label", "apps.open-cluster-management.io/application-set=true")}
	var total atomic.Int64
	ask := func(ctx context.Context, query string, variables map[string]any) (err error) {
		defer must.Return(&err)
		body := must.Get(json.Marshal(map[string]any{"query": query, "variables": variables}))
		r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, b.Product.Search.URL(), bytes.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")
		response, err := rig.Authorized(caller, r, rig.SearchToken)
		must.OK(err)
		defer func() { _ = response.Body.Close() }()
		size, err := io.Copy(io.Discard, response.Body)
		total.Add(size)
		return err
	}
	if err := ask(ctx, queryClusters, map[string]any{"property": "cluster", "query": map[string]any{"filters": pulled, "limit": -1}, "limit": -1}); err != nil {
		return 0, err
	}
	clusters, _ := searched(b)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(queriesInFlight)
	for batch := range slices.Chunk(rig.ClusterNames(0, clusters), queryBatch) {
		filters := append(slices.Clone(pulled), filter("cluster", batch...))
		group.Go(func() error {
			return ask(ctx, queryApplications, map[string]any{"input": []any{map[string]any{"filters": filters, "limit": -1}}})
		})
	}
	err := group.Wait()
	return total.Load(), err
}
