// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

// Speaker is a kind of object that delays what is done about a delivery.
type Speaker int

// Speakers. Tenants write Applications and ApplicationSets, administrators Namespaces. An agent
// writes its own ManagedCluster, a cluster's administrators its ClusterClaims.
const (
	OnApplication Speaker = iota
	OnApplicationSet
	OnNamespace // the Application's and propagation's
	OnCluster   // ManagedCluster and ClusterClaim
)

// Change is a kind of change of a delivery.
type Change int

// Changes.
const (
	Deliver  Change = iota // a ManifestWork is made or changed
	Withdraw               // one ends since its tenant wants that
	Revoke                 // one ends since it may not be there any more
)

// delays is who may delay which change: by a pause, a hold, or a value that is invalid.
var delays = map[Change]map[Speaker]bool{
	Deliver:  {OnApplication: true, OnApplicationSet: true, OnNamespace: true, OnCluster: true},
	Withdraw: {OnApplication: true, OnApplicationSet: true, OnNamespace: true},
	Revoke:   {OnNamespace: true},
}

// ChangeOf returns the change by which a ManifestWork ends for a reason.
func ChangeOf(why Why) Change {
	switch why {
	case "":
		return Deliver
	case NotBound, ProjectNotAllowed, NamespaceNotAllowed, LocalCluster:
		return Revoke
	}
	return Withdraw
}
