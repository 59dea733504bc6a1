// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// sample is a recorded request with the real service's answer.
type sample struct {
	name    string
	Note    string
	Request struct {
		Method  string
		Path    string
		Auth    *string
		Headers map[string]string `json:"extra_headers"`
		Body    json.RawMessage
	}
	Response struct {
		Status  int
		Headers map[string]string
		Text    *string `json:"body_text"`
		Body    json.RawMessage
	}
}

// read returns a recorded sample.
func read(t testing.TB, name string) sample {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var s sample
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s.name = name
	return s
}

// answer is a GraphQL answer with the fields of search results.
type answer struct {
	Errors []struct {
		Message string
		Path    []any
	} `json:"errors,omitempty"`
	Data map[string]json.RawMessage `json:"data"`
}

type result struct {
	Count   *int             `json:"count,omitempty"`
	Items   []map[string]any `json:"items"`
	Related []struct {
		Kind  string
		Count *int `json:"count,omitempty"`
		Items []map[string]any
	} `json:"related"`
}

// results returns the search results of a sample.
func (s sample) results(t testing.TB) []result {
	t.Helper()
	var a answer
	if err := json.Unmarshal(s.Response.Body, &a); err != nil {
		t.Fatal(err)
	}
	for _, data := range a.Data {
		var results []result
		if err := json.Unmarshal(data, &results); err != nil {
			t.Fatal(err)
		}
		return results
	}
	return nil
}

// recordedRows fills a table with the rows and edges of the recording, as far as the answers show them.
func recordedRows(t testing.TB) source {
	t.Helper()
	rows := map[string]table.Row{}
	add := func(flat map[string]any) {
		row := stored(flat)
		rows[row.UID] = row
	}
	var order []string
	for _, name := range []string{
		"06i-no-label-filter-hub-too.json", "01-success-two-clusters.json", "29c-clusters-visible.json",
		"08c-rbac-clusternodes-first-reader-allmanaged.json", "12-level1-kind_plural.json",
	} {
		for _, result := range read(t, name).results(t) {
			for _, item := range result.Items {
				add(item)
				order = append(order, item["_uid"].(string))
			}
			for _, related := range result.Related {
				for _, item := range related.Items {
					add(item)
					order = append(order, item["_uid"].(string))
				}
			}
		}
	}
	edges := recordedEdges(t, rows)
	return func(into *table.Table) {
		for _, uid := range order {
			into.Put(rows[uid])
		}
		into.Relate(edges...)
	}
}

// stored converts a flattened row back into its stored form.
func stored(flat map[string]any) table.Row {
	row := table.Row{Data: map[string]any{}}
	for key, value := range flat {
		text, _ := value.(string)
		switch key {
		case "_uid":
			row.UID = text
		case "cluster":
			row.Cluster = text
		case "_relatedUids":
		case "label", "addon":
			pairs := map[string]any{}
			for pair := range strings.SplitSeq(text, "; ") {
				name, value, _ := strings.Cut(pair, "=")
				pairs[name] = value
			}
			row.Data[key] = pairs
		default:
			row.Data[key] = text
		}
	}
	return row
}

// recordedEdges returns the edges between the rows: the relations in the level-1 answers, the Applications of
// the hub's ApplicationSets, and the owners of workloads.
func recordedEdges(t testing.TB, rows map[string]table.Row) []table.Edge {
	t.Helper()
	var edges []table.Edge
	for _, related := range read(t, "12-level1-kind_plural.json").results(t)[0].Related {
		for _, item := range related.Items {
			if related.Kind == "Cluster" {
				continue
			}
			for _, of := range item["_relatedUids"].([]any) {
				edges = append(edges, table.Edge{From: of.(string), To: item["_uid"].(string)})
			}
		}
	}
	for _, related := range read(t, "08c-rbac-clusternodes-first-reader-allmanaged.json").results(t)[0].Related {
		for _, item := range related.Items {
			if related.Kind != "ApplicationSet" {
				continue
			}
			for _, of := range item["_relatedUids"].([]any) {
				edges = append(edges, table.Edge{From: of.(string), To: item["_uid"].(string)})
			}
		}
	}
	for uid, row := range rows {
		if owner, ok := row.Data["_ownerUID"].(string); ok {
			edges = append(edges, table.Edge{From: uid, To: owner})
		}
		if row.Data["kind"] != "ReplicaSet" {
			continue
		}
		for other, deployment := range rows {
			if deployment.Data["kind"] == "Deployment" && deployment.Cluster == row.Cluster &&
				strings.HasPrefix(row.Data["name"].(string), deployment.Data["name"].(string)+"-") {
				edges = append(edges, table.Edge{From: uid, To: other})
			}
		}
	}
	slices.SortFunc(edges, func(a, b table.Edge) int { return strings.Compare(a.From+a.To, b.From+b.To) })
	return edges
}
