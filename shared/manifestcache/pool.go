// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pool holds values that many cached objects have in common, each once. Its size in bytes is
// limited: a value that is too large is not kept, and a full pool is emptied. Its values must not
// be changed, as cached objects must not.
type pool[T any] struct {
	// most limits the bytes of all values together, each the bytes of one value.
	most, each int

	mu    sync.Mutex
	kept  map[[sha256.Size]byte]T
	bytes int
}

// These are values that an ApplicationSet sets on all its Applications, or on all of a cluster:
//
//   - specs that hardly differ
//   - labels
//   - annotations that name the cluster but not the Application
//   - owners and finalizers
var (
	commonSpecs      = pool[json.RawMessage]{most: 4 << 20, each: 64 << 10}
	commonMaps       = pool[map[string]string]{most: 2 << 20, each: 4 << 10}
	commonOwners     = pool[[]metav1.OwnerReference]{most: 1 << 20, each: 4 << 10}
	commonFinalizers = pool[[]string]{most: 1 << 20, each: 4 << 10}
)

// overhead is about the cost of an entry in addition to its value.
const overhead = 64

// share returns the kept value with the same encoding. If no such value is kept, it returns
// tight(value), and keeps that value while the pool has room.
func (p *pool[T]) share(value T, encoded []byte, tight func(T) T) T {
	size := len(encoded) + overhead
	if size > p.each {
		return tight(value)
	}
	key := sha256.Sum256(encoded)
	p.mu.Lock()
	defer p.mu.Unlock()
	if existing, exists := p.kept[key]; exists {
		return existing
	}
	if p.kept == nil || p.bytes+size > p.most {
		p.kept, p.bytes = map[[sha256.Size]byte]T{}, 0
	}
	value = tight(value)
	p.kept[key] = value
	p.bytes += size
	return value
}

// text returns the encoding that identifies a value.
func text[T map[string]string | []string | []metav1.OwnerReference](value T) []byte {
	raw, _ := json.Marshal(value) // these types can always be encoded
	return raw
}

// shareMap returns a map equal to m, the same one for small maps that repeat.
func shareMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return commonMaps.share(m, text(m), func(m map[string]string) map[string]string {
		tight := make(map[string]string, len(m))
		for k, v := range m {
			tight[Intern(k)] = v
		}
		return tight
	})
}

// shareSpec returns a spec with the same bytes. Small specs that repeat are shared. They come from
// an ApplicationSet with a template that names the cluster only in the destination. propagation
// replaces the destination anyway. Specs are replaced and never changed in place.
func shareSpec(spec json.RawMessage) json.RawMessage {
	return commonSpecs.share(spec, spec, func(spec json.RawMessage) json.RawMessage { return bytes.Clone(spec) })
}

// shareFinalizers returns equal finalizers without spare capacity.
func shareFinalizers(finalizers []string) []string {
	if len(finalizers) == 0 {
		return nil
	}
	return commonFinalizers.share(finalizers, text(finalizers), exact)
}

// shareOwners returns equal owners.
func shareOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	if len(owners) == 0 {
		return nil
	}
	return commonOwners.share(owners, text(owners), exact)
}

// exact returns a copy without spare capacity.
func exact[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }
