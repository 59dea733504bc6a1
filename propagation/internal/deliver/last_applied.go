// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// lastApplied remembers what was written, so that a spec that the API server does not
// store as it is, since its CRD does not know a field, is not written again and again.
// What it has learned is noted on the work too, see markStored, for the next start.
type lastApplied struct {
	mu      sync.Mutex
	written map[types.UID]writing
}

// writing is a spec, by its hash, and the generation that it became.
type writing struct {
	hash       string
	generation int64
}

// same reports whether a cached work's spec is the wanted one, or what the server
// made of it.
func (s *lastApplied) same(work *manifestcache.Cached, want string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, there := s.written[work.UID]
	hash := work.Stored.Hash
	if hash == want {
		if there && last.generation <= work.Generation {
			delete(s.written, work.UID) // it was stored as it is
		}
		return true
	}
	return there && last == writing{want, work.Generation} ||
		work.Annotations[contract.StoredSpecAnnotation] == payload.StoredAs(want, hash)
}

// remember notes that the spec with the hash want was written, to which the API
// server answered with the metadata.
func (s *lastApplied) remember(answer metav1.Object, want string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == nil {
		s.written = map[types.UID]writing{}
	}
	s.written[answer.GetUID()] = writing{want, answer.GetGeneration()}
}

// prune forgets works that are gone.
func (s *lastApplied) prune(there map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.written, func(uid types.UID, _ writing) bool { return !there[uid] })
}
