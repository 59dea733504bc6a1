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

// refreshes are those that this process has sent, by Application. They may be lost at any
// time: one that is not known is sent once more. Delivery alone takes refreshes off
// Applications. The one of an Application is read and written by its own reconcile only, of
// which there is one at a time.
type refreshes struct{ sent sync.Map }

func (s *refreshes) get(app types.NamespacedName) sentRefresh {
	value, _ := s.sent.Load(app)
	sent, _ := value.(sentRefresh)
	return sent
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
	key := client.ObjectKeyFromObject(app)
	sent := s.get(key)
	switch {
	case sent.ended == "" && app.Annotations[argocd.RefreshAnnotation] != "":
		return sent.id, false
	case sent.ended != "" && !isAfter(app.ResourceVersion, sent.ended):
		return "", true
	}
	s.sent.Delete(key) // what it has now is another one
	return "", false
}

// isAfter reports whether a version of an Application came after another.
func isAfter(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil && version != other || order > 0
}

// send notes that a refresh is about to be sent.
func (s *refreshes) send(app types.NamespacedName, id string) {
	if s.get(app).id != id {
		s.sent.Store(app, sentRefresh{id: id})
	}
}

// markDone notes when a refresh was first seen to be done.
func (s *refreshes) markDone(app types.NamespacedName, id string, now time.Time) {
	if sent := s.get(app); sent.id == id && sent.done.IsZero() {
		sent.done = now
		s.sent.Store(app, sent)
	}
}

// end notes what became of the write that took a refresh off that version of the Application.
func (s *refreshes) end(app types.NamespacedName, id, version string, outcome error) {
	switch {
	case outcome == nil:
		s.sent.Store(app, sentRefresh{id: id, ended: version})
	case !apierrors.IsConflict(outcome): // after one it is still to be taken off
		s.sent.Delete(app) // it may be off, and the next one there
	}
}

// forget forgets the refresh of an Application.
func (s *refreshes) forget(app types.NamespacedName) { s.sent.Delete(app) }
