// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Group are deliveries that are judged together: of one ApplicationSet of a namespace, or,
// with Set empty, of the Applications there that have none. The zero Group is the whole hub.
type Group struct{ Namespace, Set string }

// String names the group for people.
func (g Group) String() string {
	switch {
	case g.Set != "":
		return "ApplicationSet " + g.Namespace + "/" + g.Set
	case g.Namespace != "":
		return "namespace " + g.Namespace + " without ApplicationSet"
	}
	return "the hub"
}

// GroupOf returns the group that a work names. Its agent can write that.
func GroupOf(work *manifestcache.Work) Group {
	app, _ := work.Claimant()
	set, named := work.ApplicationSet()
	if !named || set.Namespace != app.Namespace {
		set.Name = ""
	}
	return Group{Namespace: app.Namespace, Set: set.Name}
}

// MarshalText makes a group a key of a JSON object.
func (g Group) MarshalText() ([]byte, error) { return []byte(g.Namespace + "/" + g.Set), nil }

// UnmarshalText is its reverse.
func (g *Group) UnmarshalText(text []byte) error {
	i := slices.Index(text, '/')
	if i < 0 {
		return fmt.Errorf("%.100q is no group", text)
	}
	*g = Group{string(text[:i]), string(text[i+1:])}
	return nil
}

// LaneKind says whose ends are judged together.
type LaneKind int

// Kinds of lane. What one agent can make up is judged in its own cluster's lanes.
const (
	Uncounted        LaneKind = iota // nothing is lost, or nobody can hold it
	Tenant                           // withdrawals that a tenant wants
	Admin                            // revocations
	ClusterWithdrawn                 // withdrawals that only the works of one cluster speak of
	ClusterRevoked                   // revocations that one cluster brought about
	Unproven                         // withdrawals whose group only the work names
)

// String names the kind as the ledger does.
func (k LaneKind) String() string {
	return [...]string{"uncounted", "tenant", "admin", "cluster-withdrawn", "cluster-revoked", "unproven"}[k]
}

// OfCluster reports whether such a lane is one of a cluster.
func (k LaneKind) OfCluster() bool { return k == ClusterWithdrawn || k == ClusterRevoked }

// Lane are ends that share a limit and a hold. Each lane has its own, and each kind one for
// the whole hub. The zero Lane is for what is not counted.
type Lane struct {
	Kind LaneKind
	// Group is the owner of the deliveries. In a lane of a cluster its Namespace is the
	// cluster's; the zero Group is all lanes of the kind together.
	Group Group
}
