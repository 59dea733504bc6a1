// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEncode_equalsTheRecording converts the row of a sample and compares it with the recorded answer.
func TestEncode_equalsTheRecording(t *testing.T) {
	var recorded struct {
		Row      map[string]any `json:"note_row"`
		Response struct {
			Body struct {
				Data struct {
					SearchResult []struct{ Items []map[string]any }
				}
			}
		}
	}
	load(t, "27-encodings-search.json", &recorded)
	row := Row{UID: "cluster1/enc", Cluster: "cluster1", Data: recorded.Row}
	want := recorded.Response.Body.Data.SearchResult[0].Items[0]
	if diff := cmp.Diff(want, decode(t, Encode(row.flat()))); diff != "" {
		t.Error("search gives something else (-recorded +ours):\n" + diff)
	}
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, item Item) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(item, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
