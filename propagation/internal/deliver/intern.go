// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// intern returns s as one string for all that are equal.
func intern(s string) string { return unique.Make(s).Value() }

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

// The specs and label sets of ApplicationSets whose templates have little of the
// cluster in them. Annotations name it, so that they are hardly ever the same.
var (
	commonSpecs = pool[json.RawMessage]{most: 4 << 20, each: 64 << 10}
	commonMaps  = pool[map[string]string]{most: 1 << 20, each: 4 << 10}
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

// internMap returns a map equal to m, the same one for small maps that repeat: the
// labels of all works of an ApplicationSet.
func internMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	size := 0
	for _, k := range slices.Sorted(maps.Keys(m)) {
		size += len(k) + len(m[k]) + overhead/2
		for _, s := range []string{k, "\x00", m[k], "\x00"} {
			_, _ = hash.WriteString(s) // a hash never fails to write
		}
	}
	return commonMaps.share(hash.Sum64(), size, func(is map[string]string) bool { return maps.Equal(is, m) }, func() map[string]string { return internKeys(m) })
}

// internSpec returns a spec of the same bytes, the same one for small specs that
// repeat: those of an ApplicationSet whose template names nothing of the cluster but
// its destination, which is ours to set anyway. Specs are replaced, never written to.
func internSpec(spec json.RawMessage) json.RawMessage {
	return commonSpecs.share(maphash.Bytes(seed, spec), len(spec), func(is json.RawMessage) bool { return bytes.Equal(is, spec) }, func() json.RawMessage { return bytes.Clone(spec) })
}

// internKeys copies m into a map of the right size whose keys are shared.
func internKeys(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	tight := make(map[string]string, len(m))
	for k, v := range m {
		tight[intern(k)] = v
	}
	return tight
}

// exact returns a copy without the room that a decoder leaves for more elements.
func exact[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}

func internMeta(o *metav1.ObjectMeta) {
	o.ManagedFields = nil
	o.Namespace = intern(o.Namespace)
	o.Finalizers, o.OwnerReferences = exact(o.Finalizers), exact(o.OwnerReferences)
	for i := range o.Finalizers {
		o.Finalizers[i] = intern(o.Finalizers[i])
	}
	for i := range o.OwnerReferences {
		r := &o.OwnerReferences[i]
		r.APIVersion, r.Kind, r.Name, r.UID = intern(r.APIVersion), intern(r.Kind), intern(r.Name), unique.Make(r.UID).Value()
	}
}
