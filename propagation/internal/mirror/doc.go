// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror writes the report of a managed cluster about a delivered Application into the status
// of the hub Application. It takes the report from the feedback of the ManifestWork. It patches only
// the status, and only the fields that differ.
//
// The ApplicationSet controller of the hub reads this status for a progressive sync (strategy
// RollingSync). It has the following rules in Argo CD v2.14 and v3.2 (applicationset/controllers):
//
//   - An Application has finished its step if its health is Healthy, its sync status is not
//     OutOfSync, and its operation has succeeded or does not exist. So a health that is no longer
//     known must be shown as Unknown. Sync status Unknown alone would not stop a progressive sync.
//   - OutOfSync sets an Application back to Waiting, and its next turn requests a sync. So OutOfSync
//     must never appear for a moment only. Removing a finished operation from a ManifestWork is no
//     change to wait for (contract.ChangeGenerationAnnotation). A change that the agent applies
//     within [Options.ApplyGrace] is never shown as missing. OutOfSync must not disappear for a
//     moment either: Synced and Succeeded from before the change would end a step that has not
//     started. So it stays until the cluster has compared ([Options.CompareGrace]). The same holds
//     after a failed apply, and after an unavailable cluster. Argo CD on a cluster that cannot reach
//     the hub goes on comparing the earlier state, so the first new report after an outage does not
//     count.
//   - Synced and Healthy end a step, whichever version they are about. If a pause or a refusal keeps
//     the last change out of the ManifestWork, the Application is therefore shown as OutOfSync.
//     payload.Undelivered compares the spec with the hash in the work. The health remains the managed
//     cluster's.
//   - By the revisions of status.sync the controller decides whether something new has to roll out.
//     So a revision that is missing for a moment is kept (status.FillTransientGaps).
//   - It reconciles when health or sync status change. It also reconciles when the phase or startedAt
//     of an existing operation changes, but not for the first operation of an Application. So mirror
//     writes all of them in one patch.
//   - It compares no times, because the clocks of hub and managed cluster may differ. Argo CD v3.4
//     changed that: a pending Application counts as started once the startedAt of its operation is
//     after the hub's transition time. This package passes the time on unchanged.
//
// Argo CD's CRD requires phase, startedAt and operation in an operationState, and status in sync.
// mirror writes the operation that the hub asked for, with bounded size. It marks an operation that
// the cluster started as automated (see request.Run).
//
// reconciledAt changes every few minutes on every Application. It is written together with other
// changes. It is written alone once for each operation, when it is later than the operation's end.
// Until then Argo CD's notifications controller sends nothing (isAppSyncStatusRefreshed in v2.14 to
// v3.5), and Kargo does not accept the health as the health of the promoted version.
package mirror
