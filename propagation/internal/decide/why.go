// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
)

// Why is the reason of a removal. It is a value of a metric label.
type Why string

// The first four causes are lost permissions (see [ChangeOf]).
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
