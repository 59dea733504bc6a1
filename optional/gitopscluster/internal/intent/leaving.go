// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Departures is what there is to decide about clusters that are not selected any more.
type Departures struct {
	// Held are the clusters that the GitOpsCluster had, Selected those of its Placement.
	Held, Selected map[string]bool
	// Since says since when a held cluster has positively not been selected.
	Since map[string]time.Time
	// Grace is how long that must last.
	Grace time.Duration
	// Limit is how many of the held ones may leave at a time, Confirmed what the
	// operator has allowed beyond it.
	Limit     limit.Limit
	Confirmed int
}

// Decision says which clusters leave.
type Decision struct {
	// Leaving are all that are not selected any more, sorted.
	Leaving []string
	// Go are those of them that leave now.
	Go []string
	// Allowed is how many may leave at a time; HeldBack: they are more, and none goes.
	Allowed  int
	HeldBack bool
	// Look again after that long; 0: nothing is due.
	Look time.Duration
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
			if v.Look == 0 || left < v.Look {
				v.Look = left
			}
			continue
		}
		v.Go = append(v.Go, cluster)
	}
	return v
}
