// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"maps"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// maxMetadata limits the bytes of all labels and annotations that are kept of a work. An agent may
// edit them in its namespace. propagation writes only a fraction of that.
const maxMetadata = 4 << 10

// own returns the members that belong to the pull model, as long as there is room. Members of this
// version come first.
func own(all map[string]string, room *int, rejected *contract.Rejected) (kept map[string]string) {
	take := func(key string) {
		value, exists := all[key]
		if _, have := kept[key]; !exists || have {
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
	for _, key := range contract.WorkKeys {
		take(key)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, contract.KeyPrefix) {
			take(key)
		}
	}
	return kept
}
