// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// refreshes are those that this process has sent. They may be lost at any time: one that
// is not known is sent once more. Delivery alone takes refreshes off Applications, and
// reconciles an Application once at a time.
type refreshes struct {
	mu   sync.Mutex
	sent map[types.NamespacedName]sentRefresh
}

// sentRefresh is a refresh by its identity. ended is set when it was taken off the
// Application: the version that had it last.
type sentRefresh struct {
	id, ended string
	// done is when the managed cluster was first seen to have compared.
	done time.Time
}

// of returns the identity of the refresh that the Application asks for, "" when it has
// none yet. ended reports that the refresh was taken off, and app is from before.
func (s *refreshes) of(app *argocd.Application) (id string, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(app)
	sent := s.sent[key]
	switch {
	case sent.ended == "" && app.Annotations[argocd.RefreshAnnotation] != "":
		return sent.id, false
	case sent.ended != "" && !isAfter(app.ResourceVersion, sent.ended):
		return "", true
	}
	delete(s.sent, key) // what it has now is another one
	return "", false
}

// isAfter reports whether a version of an Application came after another.
func isAfter(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil && version != other || order > 0
}

// send notes that a refresh is about to be sent.
func (s *refreshes) send(app types.NamespacedName, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent[app].id != id {
		s.put(app, sentRefresh{id: id})
	}
}

// put needs the lock.
func (s *refreshes) put(app types.NamespacedName, sent sentRefresh) {
	if s.sent == nil {
		s.sent = map[types.NamespacedName]sentRefresh{}
	}
	s.sent[app] = sent
}

// doneFor returns for how long a refresh has been done, and whether it is known.
func (s *refreshes) doneFor(app types.NamespacedName, id string, now time.Time) (since time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent[app]
	if sent.id != id {
		return 0, false
	}
	if sent.done.IsZero() {
		sent.done = now
		s.sent[app] = sent
	}
	return now.Sub(sent.done), true
}

// end notes what became of the write that took a refresh off that version of the Application.
func (s *refreshes) end(app types.NamespacedName, id, version string, outcome error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case outcome == nil:
		s.put(app, sentRefresh{id: id, ended: version})
	case !apierrors.IsConflict(outcome): // after one it is still to be taken off
		delete(s.sent, app) // it may be off, and the next one there
	}
}

// forget forgets the refresh of an Application.
func (s *refreshes) forget(app types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, app)
}
