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

// bareRounds is how many polls are timed, and how often the bare queries.
const bareRounds = 9

// bareSearch compares resourcesync's polls with what search itself needs for their
// queries. The two take turns, half an interval apart, so that neither finds the
// machine fresher, and one that something else holds up does not decide. No
// metrics are read from resourcesync while it polls.
func (b *bench) bareSearch(ctx context.Context) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.search.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: time.Minute}
	var polls, bares []time.Duration
	var size int64
	if err := b.polls(ctx, 1); err != nil {
		return err
	}
	if !clock.Sleep(ctx, pollInterval/2) {
		return ctx.Err()
	}
	sum, count, err := b.polled(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for range bareRounds {
		began := time.Now()
		if size, err = b.barePoll(ctx, caller); err != nil {
			return err
		}
		bares = append(bares, time.Since(began))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		sumBefore, before := sum, count
		if sum, count, err = b.polled(ctx); err != nil {
			return err
		}
		if count > before {
			polls = append(polls, time.Duration((sum-sumBefore)/(count-before)*float64(time.Second)))
		}
	}
	if len(polls) == 0 {
		return errors.New("resourcesync does not poll")
	}
	b.rowOfPolls(polls, bares, size)
	return b.halt(ctx, env.ResourceSync)
}

// rowOfPolls compares the medians of polls and bare queries.
func (b *bench) rowOfPolls(polls, bares []time.Duration, size int64) {
	_, applications := b.searched()
	poll, bare := median(polls), median(bares)
	b.row(figure.Row{
		What: "resourcesync's poll against the bare queries", Value: float64(poll) / float64(bare), Unit: "×", Comparison: figure.AtMost, Target: 1.3, Noise: 1.5,
		Beside: fmt.Sprintf("%s (%s to %s) against %s (%s to %s), medians of %d and %d in turns; %d Applications × %d resources, %.1f MB",
			round(poll), round(slices.Min(polls)), round(slices.Max(polls)), round(bare), round(slices.Min(bares)), round(slices.Max(bares)),
			len(polls), len(bares), applications, resources, float64(size)/1e6),
	})
}

// barePoll asks what one poll asks and drops the answers; it returns their size.
func (b *bench) barePoll(ctx context.Context, caller *http.Client) (int64, error) {
	pulled := []map[string]any{
		{"property": "kind_plural", "values": []string{"applications"}},
		{"property": "apigroup", "values": []string{"argoproj.io"}},
		{"property": "label", "values": []string{"apps.open-cluster-management.io/application-set=true"}},
	}
	size, err := b.ask(ctx, caller, queryClusters, map[string]any{
		"property": "cluster", "query": map[string]any{"filters": pulled, "limit": -1}, "limit": -1,
	})
	if err != nil {
		return 0, err
	}
	clusters, _ := b.searched()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(queriesInFlight)
	var total atomic.Int64
	total.Add(size)
	for batch := range slices.Chunk(clusterNames(0, clusters), queryBatch) {
		filters := append(slices.Clone(pulled), map[string]any{"property": "cluster", "values": batch})
		group.Go(func() error {
			size, err := b.ask(ctx, caller, queryApplications, map[string]any{"input": []any{map[string]any{"filters": filters, "limit": -1}}})
			total.Add(size)
			return err
		})
	}
	err = group.Wait()
	return total.Load(), err
}

// ask sends one query and drops the answer; it returns its size.
func (b *bench) ask(ctx context.Context, caller *http.Client, query string, variables map[string]any) (int64, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.search.URL(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+searchToken)
	response, err := caller.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("search: %s", response.Status)
	}
	return io.Copy(io.Discard, response.Body)
}
