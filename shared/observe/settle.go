// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Settle returns current with what is only missing for a moment filled in from
// previous, the observation before it of the same hub Application: an operation
// that is not there is no news, and a comparison that failed does not unmake the
// revision that was compared before. It never brings back health or sync.
//
// Only Operation and Revision of previous are read, so a caller that has no
// previous observation can take them from where it last wrote them.
func Settle(previous, current Observation) Observation {
	if !current.Reported {
		return current
	}
	if current.Operation.Phase == "" && !before(previous.Operation.StartedAt, current.Delivered) {
		current.Operation = previous.Operation
	}
	if current.Revision == "" && current.Sync == argocd.SyncUnknown {
		current.Revision = previous.Revision
	}
	return current
}

// before reports that an operation cannot belong to a work, since it started
// before the work was there: the Application came from another cluster.
func before(startedAt string, delivered time.Time) bool {
	started, err := time.Parse(time.RFC3339, startedAt)
	return err == nil && started.Before(delivered)
}
