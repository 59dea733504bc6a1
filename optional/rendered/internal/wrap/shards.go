// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// maxManifests limits the manifests of one work. Each of them adds about 0.8 KiB of status to the
// same object.
const maxManifests = 400

// shards spreads a group's items over its works, which it returns by the suffix of
// their names. How many they are is never chosen here: a manifest that moves from
// one work to another may be deleted before it is applied again.
func (g *group) shards(o Options) (map[string][]item, error) {
	created, err := g.createdNamespace(o)
	if err != nil {
		return nil, err
	}
	works := g.spread(o.Shards, o.ShardsBefore, created)
	for suffix, items := range works {
		if fit(items, o.SizeLimit) {
			continue
		}
		name := contract.RenderedWorkName(o.Application, g.suffix()+suffix)
		return nil, fmt.Errorf("ManifestWork %s would hold %d bytes in %d manifests; it can hold %d bytes in %d manifests; %s",
			name, size(items), len(items), o.SizeLimit, maxManifests, g.remedy(o, created))
	}
	return works, nil
}

// remedy returns the remedy for a work that is too large. While the number of shards changes, a
// work has both its old and its new manifests. Manifests that have grown too large for their work
// do not fit there either, so the number has to change first.
func (g *group) remedy(o Options, created []item) string {
	for n := o.Shards + 1; n <= parameters.MaxShards; n++ {
		if !allFit(g.spread(n, o.ShardsBefore, created), o.SizeLimit) {
			continue
		}
		remedy := fmt.Sprintf("set parameter shards to %q", strconv.Itoa(n))
		if o.ShardsBefore == 0 {
			remedy += fmt.Sprintf("; where some of it is delivered already, do that before it grows, with shards-before %q", strconv.Itoa(o.Shards))
		}
		return remedy
	}
	if o.ShardsBefore > 0 {
		return "with shards-before a work holds what it held as well: change the number of shards before it grows"
	}
	return "no number of shards would do: make the source smaller, or give some of its manifests another sync wave, with parameter waves-before in the same commit"
}

// spread assigns each item to one of n works. While the number changes, the item also stays in the
// work that had it before. If that work lost it before the other one has it, it would be deleted.
// The first items are in every work.
func (g *group) spread(n, before int, first []item) map[string][]item {
	works := map[string][]item{}
	for _, i := range g.items {
		to := i.shard(n)
		works[to] = append(works[to], i)
		if before == 0 {
			continue
		}
		if had := i.shard(before); had != to {
			works[had] = append(works[had], i)
		}
	}
	for suffix, items := range works {
		works[suffix] = append(first[:len(first):len(first)], items...)
	}
	return works
}

// shard returns the suffix of the item's work among n works. It only depends on the manifest's
// identity, so that growth moves nothing. Items that others wait for are all in the first work.
func (i *item) shard(n int) string {
	switch {
	case n == 1:
		return ""
	case i.IsNamespace() || i.IsDefinition():
		return "-s0"
	}
	// No faster hash: FNV puts names that differ by a number into very few of 3 or 5.
	sum := sha256.Sum256([]byte(strings.Join([]string{i.Group, i.Kind, i.Namespace, i.Name}, "\x00")))
	return "-s" + strconv.FormatUint(binary.BigEndian.Uint64(sum[:])%uint64(n), 10) //nolint:gosec // n is at least 1
}

// createdNamespace returns the namespace to create, unless the group delivers it.
func (g *group) createdNamespace(o Options) ([]item, error) {
	if o.CreateNamespace == "" {
		return nil, nil
	}
	for i := range g.items {
		if g.items[i].IsNamespace() && g.items[i].Name == o.CreateNamespace {
			return nil, nil
		}
	}
	n, err := newNamespace(o.CreateNamespace, o.Types)
	return []item{n}, err
}

func allFit(works map[string][]item, limit int) bool {
	for _, items := range works {
		if !fit(items, limit) {
			return false
		}
	}
	return true
}

func fit(items []item, limit int) bool { return len(items) <= maxManifests && size(items) <= limit }

func size(items []item) int {
	total := 0
	for _, i := range items {
		total += i.size
	}
	return total
}
