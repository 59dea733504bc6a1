// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

// Speaker is a kind of object that says what delays, keeps or orphans what is delivered.
type Speaker int

// Speakers. Tenants write Applications and ApplicationSets, administrators Namespaces;
// a ManagedCluster can be written by its own agent, a ClusterClaim by the cluster's administrators.
const (
	OnApplication Speaker = iota
	OnApplicationSet
	OnNamespace
	OnHubNamespace // where propagation runs
	OnManagedCluster
	OnClusterClaim // made on the managed cluster
)

// Act is what propagation is about to do with a delivery.
type Act int

// Acts.
const (
	// Deliver makes or changes a ManifestWork.
	Deliver Act = iota
	// Withdraw ends one because the tenant wants it so: deletion, label, another target.
	Withdraw
	// Revoke ends one because it may not be there any more: binding, project, namespace.
	Revoke
)

// heeded is who may delay, or keep for a time, which act.
var heeded = map[Speaker]map[Act]bool{
	OnApplication:    {Deliver: true, Withdraw: true},
	OnApplicationSet: {Deliver: true, Withdraw: true},
	OnNamespace:      {Deliver: true, Withdraw: true, Revoke: true},
	OnHubNamespace:   {Deliver: true, Withdraw: true, Revoke: true},
	OnManagedCluster: {Deliver: true},
	OnClusterClaim:   {Deliver: true},
}

// MayDelay reports whether what the speaker says delays the act: a pause, a hold, or
// a value that cannot be followed.
func MayDelay(s Speaker, a Act) bool { return heeded[s][a] }

// ActOf returns the act by which a delivery ends for a reason.
func ActOf(reason string) Act {
	switch reason {
	case ReasonNotBound, ReasonProjectDenied, ReasonNamespaceDenied, ReasonLocalCluster:
		return Revoke
	}
	return Withdraw
}
