// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// BenchmarkPoll requests 5,000 Applications with 10 resources each, in batches of 50 clusters. It measures
// the cost of one poll for the stand-in and the connection, which is the least that a client can need.
func BenchmarkPoll(b *testing.B) {
	fleet := memory.Fleet{Clusters: 500, Sets: 10, Resources: 10}
	server := serve(b, search.Options{Source: fleet})
	testkit.Until(b, "the fleet to be filled in", func() bool { return server.Table().Len() == 500*(1+10*11) })
	caller := client(b, server)
	var batches [][]byte
	for first := 0; first < fleet.Clusters; first += 50 {
		var names []string
		for c := first; c < first+50; c++ {
			names = append(names, memory.ClusterName(c))
		}
		batches = append(batches, level1(b, names))
	}
	for b.Loop() {
		size := int64(0)
		for _, batch := range batches {
			size += ask(b, server, caller, batch)
		}
		b.ReportMetric(float64(size)/1e6, "MB/poll")
	}
}

// level1 returns the query for the Applications of clusters with their direct relations.
func level1(t testing.TB, clusters []string) []byte {
	t.Helper()
	filter := func(property string, values ...string) map[string]any {
		return map[string]any{"property": property, "values": values}
	}
	body, err := json.Marshal(map[string]any{
		"query": "query q($input: [SearchInput]) {search(input: $input) {count items related {kind items}}}",
		"variables": map[string]any{"input": []any{map[string]any{
			"limit": -1,
			"filters": []any{
				filter("kind_plural", "applications"), filter("apigroup", "argoproj.io"),
				filter("label", "apps.open-cluster-management.io/application-set=true"), filter("cluster", clusters...),
			},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// ask sends a query and returns the size of its answer.
func ask(t testing.TB, server *search.Server, caller *http.Client, query []byte) int64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL(), bytes.NewReader(query))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer reader-allmanaged")
	response, err := caller.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	size, err := io.Copy(io.Discard, response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("status %d: %w", response.StatusCode, err))
	}
	return size
}
