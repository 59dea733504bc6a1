// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Counts say how many Applications are how.
type Counts struct {
	Applications int
	// Health holds the counts in the order of [Healths], Sync in that of [Syncs].
	Health [6]int
	Sync   [3]int
	// Running and Failed are by the last operation.
	Running, Failed int
	// Stale are on clusters that are not heard of. They count as Unknown.
	Stale int
}

// Add counts one Application.
func (c *Counts) Add(r *merge.Row) {
	c.Applications++
	c.Health[position(Healths, Health(r))]++
	c.Sync[position(Syncs, Sync(r))]++
	if Running(r) {
		c.Running++
	}
	if Failed(r) {
		c.Failed++
	}
	if Stale(r) {
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
	c.Running += o.Running
	c.Failed += o.Failed
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

func position(values []string, value string) int {
	for i, v := range values {
		if v == value {
			return i
		}
	}
	return len(values) - 1
}
