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

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// What resourcesync asks, as it was seen on the wire. The baseline asks the same.
const (
	queryClusters     = "query resourcesyncValues($property: String!, $query: SearchInput, $limit: Int) { searchComplete(property: $property, query: $query, limit: $limit) }"
	queryApplications = "query resourcesync($input: [SearchInput]) { searchResult: search(input: $input) { count items related { kind items } } }"
	queryBatch        = 50 // clusters in one query
	queriesInFlight   = 2
)

// aloneRounds is how many polls are timed, and how often the bare queries.
const aloneRounds = 9

// searchAlone compares resourcesync's polls with what search itself needs for their
// queries. The two take turns, half an interval apart, so that neither finds the
// machine fresher, and one that something else holds up does not decide. No
// metrics are read from resourcesync while it polls.
func searchAlone(ctx context.Context, b *bench) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.search.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: time.Minute}
	var ours, alone []time.Duration
	var size int64
	if err := polls(ctx, b, 1); err != nil {
		return err
	}
	if !clock.Sleep(ctx, pollInterval/2) {
		return ctx.Err()
	}
	sum, count, err := polled(ctx, b)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for range aloneRounds {
		began := time.Now()
		if size, err = pollAlone(ctx, b, caller); err != nil {
			return err
		}
		alone = append(alone, time.Since(began))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		sumBefore, before := sum, count
		if sum, count, err = polled(ctx, b); err != nil {
			return err
		}
		if count > before {
			ours = append(ours, time.Duration((sum-sumBefore)/(count-before)*float64(time.Second)))
		}
	}
	if len(ours) == 0 {
		return errors.New("resourcesync does not poll")
	}
	_, applications := searched(b)
	poll, queries := median(ours), median(alone)
	b.row(figure.Row{
		What: "resourcesync's poll against the bare queries", Value: float64(poll) / float64(queries), Unit: "×", Comparison: figure.AtMost, Target: 1.3, Noise: 1.5,
		Beside: fmt.Sprintf("%s against %s, medians of %d and %d in turns; %d Applications × %d resources, %.1f MB",
			round(poll), round(queries), len(ours), len(alone), applications, resources, float64(size)/1e6),
	})
	return b.halt(ctx, env.ResourceSync)
}

// pollAlone asks what one poll asks and drops the answers; it returns their size.
func pollAlone(ctx context.Context, b *bench, caller *http.Client) (int64, error) {
	pulled := []map[string]any{
		{"property": "kind_plural", "values": []string{"applications"}},
		{"property": "apigroup", "values": []string{"argoproj.io"}},
		{"property": "label", "values": []string{"apps.open-cluster-management.io/application-set=true"}},
	}
	var total atomic.Int64
	ask := func(ctx context.Context, query string, variables map[string]any) error {
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.search.URL(), bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := authorized(caller, r, searchToken)
		if err != nil {
			return err
		}
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
	for batch := range slices.Chunk(clusterNames(0, clusters), queryBatch) {
		filters := append(slices.Clone(pulled), map[string]any{"property": "cluster", "values": batch})
		group.Go(func() error {
			return ask(ctx, queryApplications, map[string]any{"input": []any{map[string]any{"filters": filters, "limit": -1}}})
		})
	}
	err := group.Wait()
	return total.Load(), err
}
