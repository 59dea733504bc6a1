// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// excludedKinds are the kinds that no report lists. They are resources that a controller creates
// from a listed resource, the objects that deliver the Application, and search's own kinds.
var excludedKinds = map[string]bool{
	"Application": true, "ApplicationSet": true, "Cluster": true,
	"EndpointSlice": true, "Pod": true, "ReplicaSet": true,
}

// IsReportedKind reports whether a report lists resources of a kind.
func IsReportedKind(kind string) bool { return kind != "" && !excludedKinds[kind] }
