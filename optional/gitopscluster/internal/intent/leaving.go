// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Departures is the input of the decision about clusters that are not selected any more.
type Departures struct {
	// Held are the clusters of the GitOpsCluster. Selected are the clusters of its Placement.
	Held, Selected map[string]bool
	// Since is since when a held cluster is known to be not selected.
	Since map[string]time.Time
	// Grace is how long that must last.
	Grace time.Duration
	// Limit is how many of the held clusters may leave at a time. Confirmed is the number that the
	// operator has allowed beyond Limit.
	Limit     limit.Limit
	Confirmed int
}

// Decision is which clusters are removed.
type Decision struct {
	// Leaving are all that are not selected any more, sorted.
	Leaving []string
	// Go are those that are removed now.
	Go []string
	// Allowed is how many may be removed at a time. HeldBack is true if more clusters would be
	// removed. Then none is removed.
	Allowed  int
	HeldBack bool
	// After is the delay until the next check, or 0.
	After time.Duration
}

// Decide returns which clusters leave.
func (d Departures) Decide(now time.Time) Decision {
	v := Decision{Allowed: max(d.Limit.Of(len(d.Held)), d.Confirmed)}
	for cluster := range d.Held {
		if !d.Selected[cluster] {
			v.Leaving = append(v.Leaving, cluster)
		}
	}
	slices.Sort(v.Leaving)
	if v.HeldBack = len(v.Leaving) > v.Allowed; v.HeldBack {
		return v
	}
	for _, cluster := range v.Leaving {
		since, known := d.Since[cluster]
		if !known {
			since = now
		}
		if left := d.Grace - now.Sub(since); left > 0 {
			if v.After == 0 || left < v.After {
				v.After = left
			}
			continue
		}
		v.Go = append(v.Go, cluster)
	}
	return v
}
