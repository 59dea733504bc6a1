// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import "strings"

// excludedKinds are the kinds that no report lists. They are resources that a controller creates
// from a listed resource, and the objects that deliver the Application.
var excludedKinds = map[string]bool{
	"Application": true, "ApplicationSet": true,
	"EndpointSlice": true, "Pod": true, "ReplicaSet": true,
}

// ClusterGroup is the API group of search's rows of managed clusters. Their kind is Cluster.
const ClusterGroup = "internal.open-cluster-management.io"

// IsReportedKind reports whether a report lists resources of a kind.
func IsReportedKind(kind string) bool { return kind != "" && !excludedKinds[kind] }

// IsReported reports whether a report lists a resource. It does not list search's rows of managed
// clusters. Other API groups have a kind Cluster, too.
func IsReported(apiVersion, kind string) bool {
	return IsReportedKind(kind) && (kind != "Cluster" || !strings.HasPrefix(apiVersion, ClusterGroup+"/"))
}
