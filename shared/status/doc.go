// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status turns what a hub knows about a delivered Application, its
// ManifestWork and its ManagedCluster, into what can honestly be said about it.
// The hub Application's status and the report both come from here, so they
// cannot contradict each other. It is pure: no client, no clock.
//
// The rules, each because a real agent or a real Argo CD does it:
//
//   - no feedback yet, or an empty sync status before the first comparison: Unknown;
//   - sync Unknown: Argo CD failed to compare and left the last health and an
//     empty revision; health is Unknown too, the last revision is kept;
//   - an operation that vanishes is no news: Argo CD clears it for a moment when
//     the next one starts ([FillTransientGaps]);
//   - the agent goes on showing old feedback of an Application that it cannot read
//     any more: Unknown, and a condition says why;
//   - a change that the agent has not applied yet: Progressing and OutOfSync. The hub
//     Application stays so for a moment longer, until Argo CD there has compared
//     ([Facts.Repeats]); the report does not;
//   - a change of the hub Application that is not delivered, since it is paused or
//     refused, or waits: OutOfSync on the hub, and a condition. The report, which is about
//     what is on the cluster, does not say it;
//   - a change that it could not apply: OutOfSync, health Unknown, and a condition
//     with the agent's words;
//   - a cluster that is not available: Unknown, and a condition with the time it
//     of its last report and what that was.
package status
