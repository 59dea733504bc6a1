// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifestcache defines how ManifestWorks and Applications are kept in memory. A hub has one of each for every
// Application of the fleet, so only the fields that are read are kept. This package is the only place that lists them.
// Whoever reads another field adds it here, and measures its bytes with go test -bench Memory in propagation and
// aggregation.
//
// [Compact] keeps the following of a ManifestWork in a [Work]:
//
//   - namespace, name, UID, resource version, generation, and times of creation and deletion. Patches and deletes
//     name their version, and a work may be re-created.
//   - labels and annotations of the pull model, which name the owner and the content
//   - instead of the spec, the fields that propagation compares before it writes: [Stored]
//   - of the status, the status.WorkStatus, and in [Extra] the fields that only some works have
//
// It leaves out owners, finalizers, managed fields, the spec, and conditions and feedback of other manifests. Values
// that a managed cluster has written are limited before they are kept.
//
// [TrimApplication] keeps the fields of argocd.Application. Spec, operation and status are the raw bytes of the user
// or of Argo CD, because they are delivered, compared and patched. It leaves out managed fields and kubectl's copy of
// the object. It also leaves out lists in the status that a hub's own Argo CD has left behind (resources, history,
// summary, the resources of a sync). If a spec is too large to be delivered, or [Specs] have no room for it, only its
// project and destination are kept. If an Application is not pulled, only our conditions and the metadata that is read
// are kept. If an Application is large without its spec, only the fields by which it is found are kept ([Reduced]).
//
// Applications share texts, maps and lists that they have in common.
package manifestcache
