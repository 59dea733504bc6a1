// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"net/http"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// batchObjects is how many resources one answer is expected to have at most: some 4 MB.
const batchObjects = 10_000

// batches divides clusters into requests, by number and by their last size.
func (s *state) batches(clusters []string, most int) (out [][]string) {
	objects := 0
	for _, c := range clusters {
		apps := s.clusters[c].Applications
		weight := len(apps)
		for i := range apps {
			weight += len(apps[i].Resources)
		}
		if n := len(out); n > 0 && len(out[n-1]) < most && objects+weight <= batchObjects {
			out[n-1] = append(out[n-1], c)
			objects += weight
			continue
		}
		out, objects = append(out, []string{c}), weight
	}
	return out
}

// divisible reports whether a smaller request may succeed where this one failed.
func divisible(err error) bool {
	switch search.KindOf(err) {
	case search.KindTooLarge, search.KindTimeout, search.KindStatement, search.KindIncomplete, search.KindGraphQL, search.KindMalformed:
		return true
	case search.KindStatus:
		return search.StatusOf(err) == http.StatusInternalServerError
	default:
		return false
	}
}
