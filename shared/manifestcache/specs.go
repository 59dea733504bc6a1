// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// The size of a hub depends on its number of Applications. Tenants decide how large each of them
// is.
const (
	// smallSpec is the size up to which a spec is always kept. Usual specs have one to three KiB,
	// or ten with inline values of a chart.
	smallSpec = 16 << 10
	// maxSpecs limits the bytes of all larger specs. maxNamespaceSpecs limits the bytes of one
	// namespace, so that one tenant cannot use all of it. The process has room for 32 MiB and the
	// overhead of garbage collection in addition to 20,000 Applications.
	maxSpecs, maxNamespaceSpecs = 32 << 20, 16 << 20
)

// Specs limits the memory of all cached Applications. A large spec that does not fit is left out of
// the cache (see [Omitted]) and read when it is needed. Equal specs of a namespace are kept once.
// An Application that is large without its spec is left out, too (see [Reduced]).
type Specs struct {
	hash   func(*argocd.Application) string
	report func(omitted int)
	// most limits the bytes of all large specs. mostInNamespace limits the bytes of one namespace.
	most, mostInNamespace int

	mu          sync.Mutex
	of          map[types.UID]specKey
	kept        map[specKey]*keptSpec
	omitted     map[types.UID]bool
	total       int
	inNamespace map[string]int
}

type specKey struct {
	namespace string
	sum       [sha256.Size]byte
}

type keptSpec struct {
	spec json.RawMessage
	refs int
}

// NewSpecs returns the limits of one cache. hash identifies the delivered part of an Application's
// spec. report gets the number of Applications of which something is left out.
func NewSpecs(hash func(*argocd.Application) string, report func(omitted int)) *Specs {
	return &Specs{
		hash: hash, report: report, most: maxSpecs, mostInNamespace: maxNamespaceSpecs, of: map[types.UID]specKey{}, kept: map[specKey]*keptSpec{},
		omitted: map[types.UID]bool{}, inNamespace: map[string]int{},
	}
}

// Forget stops counting the spec of an Application that left the cache.
func (s *Specs) Forget(app types.UID) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(app)
	s.report(len(s.omitted))
}

// keep returns the form of an Application's spec that the cache keeps.
func (s *Specs) keep(app *argocd.Application) json.RawMessage {
	size := len(app.Spec)
	switch {
	case s == nil || omitted(app.Spec) != (omission{}): // no limit, or left out before
		return shareSpec(app.Spec)
	case size <= smallSpec:
		s.Forget(app.UID)
		return shareSpec(app.Spec)
	}
	key := specKey{app.Namespace, sha256.Sum256(app.Spec)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[app.UID] == key {
		return s.kept[key].spec
	}
	s.release(app.UID)
	k := s.kept[key]
	switch {
	case k != nil:
	case s.total+size > s.most || s.inNamespace[app.Namespace]+size > s.mostInNamespace:
		s.omitted[app.UID] = true
		s.report(len(s.omitted))
		return s.omit(app)
	default:
		k = &keptSpec{spec: bytes.Clone(app.Spec)}
		s.kept[key], s.total = k, s.total+size
		s.inNamespace[app.Namespace] += size
	}
	k.refs, s.of[app.UID] = k.refs+1, key
	s.report(len(s.omitted))
	return k.spec
}

// release stops counting the spec of an Application.
func (s *Specs) release(app types.UID) {
	delete(s.omitted, app)
	key, had := s.of[app]
	if !had {
		return
	}
	delete(s.of, app)
	k := s.kept[key]
	if k.refs--; k.refs > 0 {
		return
	}
	delete(s.kept, key)
	s.total -= len(k.spec)
	if s.inNamespace[key.namespace] -= len(k.spec); s.inNamespace[key.namespace] == 0 {
		delete(s.inNamespace, key.namespace)
	}
}

// leaveOut counts an Application as left out.
func (s *Specs) leaveOut(app types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(app)
	s.omitted[app] = true
	s.report(len(s.omitted))
}

// omit returns the replacement of a spec that is left out.
func (s *Specs) omit(app *argocd.Application) json.RawMessage { return encoded(s.members(app), nil) }

// members returns the members of that replacement.
func (s *Specs) members(app *argocd.Application) map[string]any {
	fields := membersOf(app.Spec)
	kept := map[string]any{omittedMember: len(app.Spec)}
	if s != nil {
		kept[omittedHash] = s.hash(app)
	}
	for _, name := range []string{"project", "destination"} {
		if value, exists := fields[name]; exists && len(value) <= maxReference {
			kept[name] = value
		}
	}
	return kept
}
