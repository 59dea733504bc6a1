// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
)

// TestLimits_cutAsManyItemsAsRecorded replays the samples in which the limit cut the related items. It compares only their number,
// because the service may return any of them.
func TestLimits_cutAsManyItemsAsRecorded(t *testing.T) {
	server := serve(t, search.Options{Source: recordedRows(t)})
	waitForRows(t, server)
	for _, name := range []string{"09b-limit-2.json", "10g-count-and-related-count.json"} {
		t.Run(name, func(t *testing.T) {
			s := read(t, name)
			got, want := shapeOfAny(t, replay(t, server, s).body), shapeOfAny(t, s.Response.Body)
			if got != want {
				t.Errorf("%+v, recorded %+v", got, want)
			}
		})
	}
}

// shapeOfAny is [shapeOf] for a result with any name. It also accepts related items that are only counted.
func shapeOfAny(t *testing.T, body []byte) shape {
	t.Helper()
	s := sample{}
	s.Response.Body = body
	r := s.results(t)[0]
	out := shape{Items: len(r.Items), NullItems: r.Items == nil, NullRelated: r.Related == nil}
	if r.Count != nil {
		out.Count = *r.Count
	}
	for _, group := range r.Related {
		if out.Related += len(group.Items); group.Count != nil {
			out.Related += *group.Count
		}
	}
	return out
}
