// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Counts are numbers of Applications by their values.
type Counts struct {
	Applications int
	// Health has the counts in the order of [Healths], and Sync in the order of [Syncs].
	Health [6]int
	Sync   [3]int
	// Phase holds the counts in the order of [Phases].
	Phase [6]int
	// Stale counts Applications on clusters that do not report. They count as Unknown.
	Stale int
}

// Add counts one Application.
func (c *Counts) Add(r *App) {
	c.Applications++
	c.Health[position(Healths, r.Health)]++
	c.Sync[position(Syncs, r.Sync)]++
	c.Phase[position(Phases, Operation(r))]++
	if r.Stale {
		c.Stale++
	}
}

func (c *Counts) merge(o Counts) {
	c.Applications += o.Applications
	for i, n := range o.Health {
		c.Health[i] += n
	}
	for i, n := range o.Sync {
		c.Sync[i] += n
	}
	for i, n := range o.Phase {
		c.Phase[i] += n
	}
	c.Stale += o.Stale
}

// Of returns how many Applications have a health.
func (c *Counts) Of(health string) int { return c.Health[position(Healths, health)] }

// Healthy returns the number of healthy Applications.
func (c *Counts) Healthy() int { return c.Of(argocd.HealthHealthy) }

// NotHealthy returns the number of all other Applications.
func (c *Counts) NotHealthy() int { return c.Applications - c.Healthy() }

// OutOfSync returns the number of Applications that are not known to be synced.
func (c *Counts) OutOfSync() int { return c.Applications - c.Sync[position(Syncs, argocd.SyncSynced)] }

// Failed returns the number of Applications with a failed last operation.
func (c *Counts) Failed() int {
	return c.Phase[position(Phases, argocd.OperationError)] + c.Phase[position(Phases, argocd.OperationFailed)]
}

// compareCounts compares the shares of Applications, the worst first: not healthy, then with a
// failed operation, then out of sync. Equal shares are compared by size.
func compareCounts(a, b *Counts) int {
	share := func(x, y int) int { return cmp.Compare(y*a.Applications, x*b.Applications) }
	return cmp.Or(
		share(a.NotHealthy(), b.NotHealthy()), share(a.Failed(), b.Failed()), share(a.OutOfSync(), b.OutOfSync()),
		cmp.Compare(b.Applications, a.Applications))
}

func position(values []string, value string) int {
	for i, v := range values {
		if v == value {
			return i
		}
	}
	return len(values) - 1
}
