// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror writes what a managed cluster says about a delivered
// Application into the status of the hub Application, straight from the
// ManifestWork's feedback. Only status is patched, and only what differs.
//
// The hub's ApplicationSet controller reads this status to roll an ApplicationSet
// out step by step (strategy RollingSync). What it reads, in Argo CD v2.14 and v3.2
// (applicationset/controllers), and what follows for this package:
//
//   - An Application counts as done when health is Healthy, sync is not OutOfSync
//     and the operation is Succeeded or absent. So a health that is no longer
//     known must be Unknown: sync Unknown alone would let a progressive sync go on.
//   - OutOfSync puts an Application back to Waiting and, once it is its turn, asks
//     for a sync. So OutOfSync must never be said for a moment only: taking a
//     finished operation out of a ManifestWork is no change to wait for
//     (contract.ChangeGenerationAnnotation), and a change that the agent applies
//     within [Options.ApplyGrace] is never shown as missing. Nor may it be taken back for
//     a moment: Synced and Succeeded from before the change would end a step that has not
//     begun. So one that was shown stays until the cluster has compared
//     ([Options.CompareGrace]).
//   - Synced and Healthy are the end of a step whatever they are about. So a change of
//     the Application that its ManifestWork does not deliver, since it is paused or
//     refused, or waits, is OutOfSync: payload.Undelivered compares the spec with the hash
//     that the work carries. Health stays the managed cluster's.
//   - The revisions of status.sync say whether something new is to be rolled out.
//     So a revision that is only missing for a moment is kept (status.FillTransientGaps).
//   - It wakes up when health or sync change, or the phase or startedAt of an
//     operation that was there before. So all of them go in one patch: the first
//     operation of an Application would not wake it on its own.
//   - It compares no times: a managed cluster's clock need not agree with the hub's. That
//     has changed in v3.4: there a pending Application counts as begun once the startedAt
//     of its operation, by the managed cluster's clock, is after the transition by the
//     hub's. This package passes the time on as it is.
//
// Argo CD's CRD wants phase, startedAt and operation in an operationState, and status in sync;
// operation is what the hub asked for, bounded, or is automated for one that the cluster began (see
// request.Run). reconciledAt changes every few minutes on every Application: it goes with other
// changes, and alone once for each operation, when it is after its end. Until then Argo CD's
// notifications controller sends nothing (isAppSyncStatusRefreshed in v2.14 to v3.5), and Kargo
// takes no health for that of the promoted version.
package mirror
