// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"maps"
	"slices"
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Limits of what is kept of a work's metadata, which an agent may edit in its own
// namespace as it likes: of labels and annotations together some times what this
// program writes, of the others more than a work ever has.
const (
	maxMetadata   = 4 << 10
	maxFinalizers = 8
	maxOwners     = 2
)

// Bound trims a work to what is read here and bounds it, whatever its managed cluster
// wrote, before anything of it is kept; the spec is the caller's business. private are
// keys of annotations that the caller has added.
func Bound(work *workv1.ManifestWork, private ...string) {
	rejected := status.Trim(&work.Status)
	room := maxMetadata
	keys := slices.Concat(private, contract.WorkKeys)
	work.Annotations = own(work.Annotations, keys, &room, &rejected)
	work.Labels = own(work.Labels, keys, &room, &rejected)
	work.Finalizers = slices.Clone(contract.Clip(work.Finalizers, maxFinalizers, &rejected))
	for i := range work.Finalizers {
		work.Finalizers[i] = contract.Name(work.Finalizers[i], &rejected)
	}
	work.OwnerReferences = slices.Clone(contract.Clip(work.OwnerReferences, maxOwners, &rejected))
	for i := range work.OwnerReferences {
		o := &work.OwnerReferences[i]
		for _, s := range []*string{&o.APIVersion, &o.Kind, &o.Name, (*string)(&o.UID)} {
			*s = contract.Name(*s, &rejected)
		}
	}
	count(&rejected)
}

// BoundCluster trims a ManagedCluster's status to what is read here, and bounds it.
func BoundCluster(cluster *clusterv1.ManagedCluster) {
	rejected := status.TrimCluster(&cluster.Status)
	count(&rejected)
}

// own returns the members that this project gives a meaning to, as far as there is
// room: those with the given keys first.
func own(all map[string]string, first []string, room *int, rejected *contract.Rejected) map[string]string {
	var kept map[string]string
	take := func(key string) {
		value, there := all[key]
		if _, have := kept[key]; !there || have {
			return
		}
		size := len(key) + len(value)
		if size > *room {
			rejected.TooLong++
			return
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key], *room = value, *room-size
	}
	for _, key := range first {
		take(key)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, contract.KeyPrefix) {
			take(key)
		}
	}
	return kept
}
