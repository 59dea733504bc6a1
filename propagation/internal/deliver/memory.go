// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// settled remembers what the API server makes of a spec that it does not store as
// it is, so that it is not written again and again.
type settled struct {
	mu     sync.Mutex
	stored map[types.UID][2]string // wanted hash, stored hash
}

// same reports whether a cached work's spec is the wanted one, or what the server
// made of it.
func (s *settled) same(work *workv1.ManifestWork, want string) bool {
	stored := work.Annotations[hashAnnotation]
	if stored == want {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[work.UID] == [2]string{want, stored}
}

// remember compares what was stored with what was wanted.
func (s *settled) remember(written *workv1.ManifestWork, want string) error {
	stored, err := specHash(&written.Spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored == want {
		delete(s.stored, written.UID)
		return nil
	}
	if s.stored == nil {
		s.stored = map[types.UID][2]string{}
	}
	s.stored[written.UID] = [2]string{want, stored}
	return nil
}

// prune forgets works that are gone.
func (s *settled) prune(there map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.stored, func(uid types.UID, _ [2]string) bool { return !there[uid] })
}

// losses remembers since when Applications have had no binding.
type losses struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// left returns how much of the grace is left. The placement controller moves
// clusters between PlacementDecisions in two writes; in between nobody has lost
// anything.
func (l *losses) left(app types.NamespacedName, now time.Time, grace time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, there := l.since[app]
	if !there {
		if l.since == nil {
			l.since = map[types.NamespacedName]time.Time{}
		}
		since, l.since[app] = now, now
	}
	return max(0, grace-now.Sub(since))
}

func (l *losses) forget(app types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, app)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
