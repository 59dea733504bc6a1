// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// FillTransientGaps returns current with the values of previous, the observation before, that are missing for a
// moment only. A missing operation means nothing, and after a failed comparison the earlier revisions stay. Health
// and sync status are never filled in.
//
// An operation is filled in only if both observations are known to belong to one ManifestWork, by its UID. The
// operation of another work ran on another cluster, or in an earlier life of the Application. Times do not prove
// that, because the clocks of hub and managed cluster may differ. After a restart a caller may not have the
// ManifestWork of previous. Then the caller leaves Work empty. Nothing is lost, because Argo CD removes an operation
// for a moment only.
//
// Only Work, the operation and the revisions of previous are read. A caller without an observation can take them from
// the status that it last wrote.
func FillTransientGaps(previous, current Observation) Observation {
	if !current.Reported {
		return current
	}
	if current.Operation.Phase == "" && current.Work == previous.Work {
		current.Operation = previous.Operation
		current.OperationRevision, current.OperationRevisions = previous.OperationRevision, previous.OperationRevisions
	}
	if current.Revision == "" && len(current.Revisions) == 0 && current.Sync == argocd.SyncUnknown {
		current.Revision, current.Revisions = previous.Revision, previous.Revisions
	}
	return current
}
