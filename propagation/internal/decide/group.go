// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Group are deliveries with a common limit. They belong to one ApplicationSet of a namespace, or
// with an empty Set to all Applications there without an ApplicationSet. The zero Group is the
// whole hub.
type Group struct{ Namespace, Set string }

// String describes the group in a message.
func (g Group) String() string {
	switch {
	case g.Set != "":
		return "ApplicationSet " + g.Namespace + "/" + g.Set
	case g.Namespace != "":
		return "namespace " + g.Namespace + " without ApplicationSet"
	}
	return "the hub"
}

// GroupOf returns the group that a work names. The agent of its cluster can change it.
func GroupOf(work *manifestcache.Work) Group {
	app, _ := work.Claimant()
	set, named := work.ApplicationSet()
	if !named || set.Namespace != app.Namespace {
		set.Name = ""
	}
	return Group{Namespace: app.Namespace, Set: set.Name}
}

// MarshalText encodes a group as a key of a JSON object.
func (g Group) MarshalText() ([]byte, error) { return []byte(g.Namespace + "/" + g.Set), nil }

// UnmarshalText decodes the text that MarshalText returns.
func (g *Group) UnmarshalText(text []byte) error {
	i := slices.Index(text, '/')
	if i < 0 {
		return fmt.Errorf("%.100q is no group", text)
	}
	*g = Group{string(text[:i]), string(text[i+1:])}
	return nil
}

// LaneKind is a kind of lane.
type LaneKind int

// An agent can cause removals in a lane of its cluster, or in Unproven, and in no other lane.
const (
	Uncounted        LaneKind = iota // no workload is lost, or no user can hold it
	Tenant                           // a tenant asks for the removal
	Admin                            // a permission is lost
	ClusterWithdrawn                 // only the works of one cluster ask for the removal
	ClusterRevoked                   // one cluster has caused the loss of the permission
	Unproven                         // only the work names the group
)

// String returns the name of the kind in the stored memory.
func (k LaneKind) String() string {
	return [...]string{"uncounted", "tenant", "admin", "cluster-withdrawn", "cluster-revoked", "unproven"}[k]
}

// OfCluster reports whether lanes of this kind belong to a cluster.
func (k LaneKind) OfCluster() bool { return k == ClusterWithdrawn || k == ClusterRevoked }

// Lane are removals that share a limit and a hold. All lanes of one kind also share a limit of the
// hub. The zero Lane is for removals that do not count.
type Lane struct {
	Kind LaneKind
	// Group is the owner of the deliveries. In a lane of a cluster, its Namespace is the cluster's.
	// The zero Group means all lanes of the kind together.
	Group Group
}
