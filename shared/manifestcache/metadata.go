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

// own adds the members with these keys to kept, as long as there is room.
func own(kept, all map[string]string, keys []string, room *int, rejected *contract.Rejected) map[string]string {
	for _, key := range keys {
		value, exists := all[key]
		if _, have := kept[key]; !exists || have {
			continue
		}
		size := len(key) + len(value)
		if size > *room {
			rejected.TooLong++
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key], *room = value, *room-size
	}
	return kept
}

// pullKeys returns the keys that belong to the pull model, of any version.
func pullKeys(all map[string]string) []string {
	keys := slices.Sorted(maps.Keys(all))
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, contract.KeyPrefix) })
}
