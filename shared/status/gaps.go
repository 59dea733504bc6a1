// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// FillTransientGaps returns current with what is only missing for a moment filled in from
// previous, the observation before it of the same hub Application: an operation
// that is not there is no news, and a comparison that failed does not unmake the
// revisions that were compared before. It never brings back health or sync.
//
// An operation is filled in only when both observations are known to be of one
// ManifestWork, by its UID: the operation of another one ran on another cluster, or
// in an earlier life of the Application. Times do not show that, since a managed
// cluster's clock need not agree with the hub's. Argo CD shows no operation for a
// moment only; so a caller that has lost which ManifestWork it wrote of before,
// after a restart, loses nothing by leaving Work of previous empty.
//
// Only Work, the operation and the revisions of previous are read, so a caller that has no
// previous observation can take them from where it last wrote them.
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
