// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pool holds values that many cached objects have in common, each once. What it keeps
// is bounded in bytes, whatever is put in and however often: a value that is too large
// is not kept, and when the pool is full it is emptied. What it hands out must not be
// written to; cached objects are not.
type pool[T any] struct {
	// most bytes of all values together, and of one.
	most, each int

	mu    sync.Mutex
	kept  map[uint64]T
	bytes int
}

// What ApplicationSets give all their Applications, or all that they have on a cluster:
// specs whose templates have little of the cluster in them, labels, annotations that name
// the cluster but not the Application, owners and finalizers.
var (
	commonSpecs      = pool[json.RawMessage]{most: 4 << 20, each: 64 << 10}
	commonMaps       = pool[map[string]string]{most: 2 << 20, each: 4 << 10}
	commonOwners     = pool[[]metav1.OwnerReference]{most: 1 << 20, each: 4 << 10}
	commonFinalizers = pool[[]string]{most: 1 << 20, each: 4 << 10}
)

// overhead is about what an entry costs beside its value.
const overhead = 64

// share returns the kept value for which same holds, else what tight makes, which is
// kept if it may. hash and size are those of the value.
func (p *pool[T]) share(hash uint64, size int, same func(T) bool, tight func() T) T {
	size += overhead
	if size > p.each {
		return tight()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	is, there := p.kept[hash]
	if there && same(is) {
		return is
	}
	value := tight()
	if there {
		return value // another of the same hash: rare, and it keeps its place
	}
	if p.kept == nil || p.bytes+size > p.most {
		p.kept, p.bytes = map[uint64]T{}, 0
	}
	p.kept[hash] = value
	p.bytes += size
	return value
}

var seed = maphash.MakeSeed()

// texts hashes texts one after the other, and counts what they take.
type texts struct {
	maphash.Hash
	size int
}

func hashing() *texts {
	var t texts
	t.SetSeed(seed)
	return &t
}

func (t *texts) add(all ...string) {
	for _, s := range all {
		_, _ = t.WriteString(s) // a hash never fails to write
		_ = t.WriteByte(0)
		t.size += len(s) + overhead/4
	}
}

// shareMap returns a map equal to m, the same one for small maps that repeat.
func shareMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	t := hashing()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		t.add(k, m[k])
	}
	return commonMaps.share(t.Sum64(), t.size, func(is map[string]string) bool { return maps.Equal(is, m) }, func() map[string]string {
		tight := make(map[string]string, len(m))
		for k, v := range m {
			tight[Intern(k)] = v
		}
		return tight
	})
}

// shareSpec returns a spec of the same bytes, the same one for small specs that
// repeat: those of an ApplicationSet whose template names nothing of the cluster but
// its destination, which is ours to set anyway. Specs are replaced, never written to.
func shareSpec(spec json.RawMessage) json.RawMessage {
	return commonSpecs.share(maphash.Bytes(seed, spec), len(spec), func(is json.RawMessage) bool { return bytes.Equal(is, spec) }, func() json.RawMessage { return bytes.Clone(spec) })
}

// shareFinalizers returns equal finalizers without the room that a decoder leaves for more.
func shareFinalizers(finalizers []string) []string {
	if len(finalizers) == 0 {
		return nil
	}
	t := hashing()
	t.add(finalizers...)
	return commonFinalizers.share(t.Sum64(), t.size, func(is []string) bool { return slices.Equal(is, finalizers) }, func() []string { return exact(finalizers) })
}

// shareOwners returns equal owners.
func shareOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	if len(owners) == 0 {
		return nil
	}
	t := hashing()
	for i := range owners {
		o := &owners[i]
		t.add(o.APIVersion, o.Kind, o.Name, string(o.UID))
		t.size += overhead
	}
	return commonOwners.share(t.Sum64(), t.size, func(is []metav1.OwnerReference) bool { return slices.EqualFunc(is, owners, sameOwner) }, func() []metav1.OwnerReference { return exact(owners) })
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
		sameFlag(a.Controller, b.Controller) && sameFlag(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
}

func sameFlag(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

// exact returns a copy without the room that a decoder leaves for more elements.
func exact[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }
