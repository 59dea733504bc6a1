// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	leases = "/apis/coordination.k8s.io/v1/namespaces/" + env.ProductNamespace + "/leases"
	// leasePrefix begins the names of the Leases, before the binary's.
	leasePrefix = "multicluster-integrations-"
)

// lease is the part of a Lease that is read.
type lease struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		HolderIdentity       string `json:"holderIdentity"`
		LeaseDurationSeconds int    `json:"leaseDurationSeconds"`
	} `json:"spec"`
}

// lease returns the Lease of a binary.
func (b *bench) lease(ctx context.Context, name string) (l lease, err error) {
	err = b.hub.Get(ctx, leases+"/"+leasePrefix+name, &l)
	return l, err
}

// holders notes when Leases get another holder than they had.
type holders struct {
	mu     sync.Mutex
	before map[string]string // by Lease; no more once it has another
	taken  map[string]time.Time
}

// holders follows the Leases of pairs from now on, until ctx ends.
func (b *bench) holders(ctx context.Context, pairs []*pair) (*holders, error) {
	h := &holders{before: map[string]string{}, taken: map[string]time.Time{}}
	for _, p := range pairs {
		l, err := b.lease(ctx, p.name)
		if err != nil {
			return nil, err
		}
		h.before[leasePrefix+p.name] = l.Spec.HolderIdentity
	}
	_, err := b.hub.Watch(ctx, leases, func(e hub.Event, arrived time.Time) { h.see(e.Object, arrived) })
	return h, err
}

// see takes in a Lease that arrived.
func (h *holders) see(object json.RawMessage, arrived time.Time) {
	var l lease
	if decode(object, &l) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before, waiting := h.before[l.Metadata.Name]
	if waiting && l.Spec.HolderIdentity != "" && l.Spec.HolderIdentity != before {
		delete(h.before, l.Metadata.Name)
		h.taken[l.Metadata.Name] = arrived
	}
}

// left returns how many Leases still have the holder that they had.
func (h *holders) left() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.before)
}

// when returns when the Lease of a binary got another holder; zero when it did not.
func (h *holders) when(name string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken[leasePrefix+name]
}
