// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifestcache is how ManifestWorks and Applications are kept in memory, of which
// a hub has one each for every Application of the fleet: as the fields that are read.
// It is the one place that says which those are; a reader of another field adds it here,
// with its bytes (go test -bench Memory in propagation and in aggregation measures them).
//
// Of a ManifestWork, [Compact] keeps in a [Work]:
//
//   - namespace, name, UID, resource version, generation, time of creation and of deletion:
//     patches and deletes say of which version they are, and one work may follow another;
//   - labels and annotations of the pull model: whose the work is, and what it carries;
//   - in the place of the spec what propagation compares before it writes: [Stored];
//   - of the status the status.Facts, and in [Extra] what only some works have.
//
// Owners, finalizers, managed fields, the spec, conditions and feedback of other manifests,
// and why something is as it should be have no reader and are left out. What a managed
// cluster wrote is bounded before anything of it is kept.
//
// Of an Application, [TrimApplication] keeps what argocd.Application has: spec, operation
// and status are the bytes that the user or Argo CD wrote, since they are delivered,
// compared and patched. It leaves out managed fields, kubectl's copy of the object, and the
// lists of a status (resources, history, summary, the resources of a sync) that a hub's own
// Argo CD left behind. Of a spec that is too large to be delivered, or for which [Specs] have no
// room, it keeps project and destination, of an Application that is not pulled metadata and
// conditions of ours.
// Texts, maps and lists that many Applications have in common they share.
package manifestcache
