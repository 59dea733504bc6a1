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

// pool holds values that many cached objects have in common, each once. What it keeps
// is bounded in bytes, whatever is put in and however often: a value that is too large
// is not kept, and when the pool is full it is emptied. What it hands out must not be
// written to; cached objects are not.
type pool[T any] struct {
	// most bytes of all values together, and of one.
	most, each int

	mu    sync.Mutex
	kept  map[[sha256.Size]byte]T
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

// share returns the kept value that is encoded alike, else what tight makes of value, which is
// kept if it may.
func (p *pool[T]) share(value T, encoded []byte, tight func(T) T) T {
	size := len(encoded) + overhead
	if size > p.each {
		return tight(value)
	}
	key := sha256.Sum256(encoded)
	p.mu.Lock()
	defer p.mu.Unlock()
	if is, there := p.kept[key]; there {
		return is
	}
	if p.kept == nil || p.bytes+size > p.most {
		p.kept, p.bytes = map[[sha256.Size]byte]T{}, 0
	}
	value = tight(value)
	p.kept[key] = value
	p.bytes += size
	return value
}

// text is what identifies a value of texts.
func text[T map[string]string | []string | []metav1.OwnerReference](value T) []byte {
	raw, _ := json.Marshal(value) // none of these types fails
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

// shareSpec returns a spec of the same bytes, the same one for small specs that
// repeat: those of an ApplicationSet whose template names nothing of the cluster but
// its destination, which is ours to set anyway. Specs are replaced, never written to.
func shareSpec(spec json.RawMessage) json.RawMessage {
	return commonSpecs.share(spec, spec, func(spec json.RawMessage) json.RawMessage { return bytes.Clone(spec) })
}

// shareFinalizers returns equal finalizers without the room that a decoder leaves for more.
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

// exact returns a copy without the room that a decoder leaves for more elements.
func exact[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }
