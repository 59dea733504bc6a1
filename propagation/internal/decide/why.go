// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
)

// Why is the reason for the end of a ManifestWork, as in metrics.
type Why string

// Reasons. The first four revoke; see [ChangeOf].
const (
	NotBound            Why = policy.ReasonNotBound
	ProjectNotAllowed   Why = policy.ReasonProjectDenied
	NamespaceNotAllowed Why = policy.ReasonNamespaceDenied
	LocalCluster        Why = policy.ReasonLocalCluster
	ClusterLeaving      Why = policy.ReasonClusterLeaving
	ApplicationGone     Why = "ApplicationGone"
	Deleting            Why = policy.ReasonDeleting
	TurnedOff           Why = policy.ReasonTurnedOff
	Retargeted          Why = "Retargeted"
	Renamed             Why = "Renamed"
	Replaced            Why = "Replaced"
	NeverApplied        Why = "NeverApplied"
	Taken               Why = policy.ReasonTaken
	Observed            Why = policy.ReasonObserved
)
