// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"hash/fnv"
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// digest returns the digest of rows in any order, as package search computes it. It is zero if some rows
// are odd.
func digest(r *search.Result) search.Digest {
	if len(r.Odd) > 0 {
		return search.Digest{}
	}
	sum := func(rows []search.Item) search.Sum {
		s := search.Sum{Rows: len(rows)}
		for _, it := range rows {
			h := fnv.New64a()
			slices.Sort(it.RelatedUIDs) // the world's own rows have no fixed order either
			fmt.Fprintf(h, "%+v", it)
			s.Hash += h.Sum64()
		}
		return s
	}
	return search.Digest{Count: r.Count, Items: sum(r.Items), Related: sum(r.Related)}
}

func object(cluster, o string, owners ...string) search.Item {
	var kind, name string
	for i := range o {
		if o[i] == '/' {
			kind, name = o[:i], o[i+1:]
		}
	}
	return search.Item{UID: cluster + "/" + o, Cluster: cluster, Kind: kind, APIVersion: "v1", Namespace: "default", Name: name, RelatedUIDs: owners}
}
