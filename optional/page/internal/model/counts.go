// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Counts say how many Applications are how.
type Counts struct {
	Applications int
	// Health holds the counts in the order of [Healths], Sync in that of [Syncs].
	Health [6]int
	Sync   [3]int
	// Phase holds the counts in the order of [Phases].
	Phase [6]int
	// Stale are on clusters that do not report. They count as Unknown.
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

// Healthy returns how many Applications are.
func (c *Counts) Healthy() int { return c.Of(argocd.HealthHealthy) }

// NotHealthy returns how many Applications are anything else.
func (c *Counts) NotHealthy() int { return c.Applications - c.Healthy() }

// OutOfSync returns how many Applications are not known to be what git says.
func (c *Counts) OutOfSync() int { return c.Applications - c.Sync[position(Syncs, argocd.SyncSynced)] }

// Failed returns how many Applications' last operation came to nothing.
func (c *Counts) Failed() int {
	return c.Phase[position(Phases, argocd.OperationError)] + c.Phase[position(Phases, argocd.OperationFailed)]
}

// compareCounts puts the worst first: by the share that is not healthy, then by the shares
// whose last operation failed and that are not what git says, then by size.
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
