// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status computes the state of a delivered Application from its ManifestWork and its ManagedCluster. The
// status of the hub Application and the report both use it, so that they cannot contradict each other. It is pure.
//
// Each rule answers the behaviour of a real agent or a real Argo CD:
//
//   - No feedback, or an empty sync status before the first comparison: Unknown.
//   - Sync status Unknown: Argo CD could not compare. It keeps the last health and removes the revision. So the
//     health is Unknown as well, and the last revision is kept.
//   - An operation disappears: that means nothing. Argo CD removes it for a moment when the next one starts
//     ([FillTransientGaps]).
//   - The agent cannot read an Application and still reports its old feedback: Unknown, and a condition has the reason.
//   - The agent has not applied a change yet: Progressing and OutOfSync. The hub Application stays so until Argo CD
//     on the cluster has compared ([WorkStatus.Repeats]), as after an unavailable cluster and a failure. The report does
//     not wait for that.
//   - A change of the hub Application is not delivered, because of a pause or a refusal: OutOfSync on the hub, and a
//     condition. The report describes the cluster and does not show it.
//   - The agent could not apply a change: OutOfSync, health Unknown, and a condition with the agent's message.
//   - A cluster is unavailable: Unknown, and a condition with the last report and its time.
package status
