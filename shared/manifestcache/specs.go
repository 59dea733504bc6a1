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

// A hub is sized by its number of Applications, and tenants decide how large each of them is.
const (
	// smallSpec is up to how many bytes a spec is kept in any case. Usual ones have one to three
	// KiB, with inline values of a chart ten.
	smallSpec = 16 << 10
	// maxSpecs and maxNamespaceSpecs are how many bytes of larger ones are kept, of all and of one
	// namespace. 32 MiB, and what the garbage collector adds, fit into the process beside 20,000
	// Applications; and one tenant cannot take all of it.
	maxSpecs, maxNamespaceSpecs = 32 << 20, 16 << 20
)

// Specs bounds the memory that the specs of all cached Applications take. A large spec that does
// not fit is left out of the cache, see [OmittedSpec], and is read when it is needed. Equal specs
// of a namespace are kept once.
type Specs struct {
	hash   func(*argocd.Application) string
	report func(omitted int)
	// most bytes of large specs in all, and of one namespace.
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

// NewSpecs returns bounds for one cache. hash identifies what an Application delivers of its spec;
// report is called with how many specs are left out.
func NewSpecs(hash func(*argocd.Application) string, report func(omitted int)) *Specs {
	return &Specs{
		hash: hash, report: report, most: maxSpecs, mostInNamespace: maxNamespaceSpecs, of: map[types.UID]specKey{}, kept: map[specKey]*keptSpec{},
		omitted: map[types.UID]bool{}, inNamespace: map[string]int{},
	}
}

// Forget takes an Application whose spec is not kept out of account.
func (s *Specs) Forget(app types.UID) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(app)
	s.report(len(s.omitted))
}

// keep returns the spec of an Application as the cache is to have it.
func (s *Specs) keep(app *argocd.Application) json.RawMessage {
	size := len(app.Spec)
	switch {
	case s == nil || OmittedSpec(app.Spec) > 0: // no bound, or it was left out before
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

// release takes the spec that an Application had out of account.
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

// omit returns what stands for a spec that is left out.
func (s *Specs) omit(app *argocd.Application) json.RawMessage {
	fields := membersOf(app.Spec)
	kept := map[string]any{omittedMember: len(app.Spec)}
	if s != nil {
		kept[omittedHash] = s.hash(app)
	}
	for _, name := range []string{"project", "destination"} {
		if value, there := fields[name]; there && len(value) <= maxReference {
			kept[name] = value
		}
	}
	return encoded(kept, nil)
}
