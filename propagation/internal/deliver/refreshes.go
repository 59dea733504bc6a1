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

// refreshes are the refreshes that this process has sent, by Application. A restart may lose them:
// a refresh that is not known is sent once more. Only delivery removes refreshes from Applications.
// Only the reconcile of an Application reads and writes its entry, and it never runs twice in
// parallel.
type refreshes struct{ sent sync.Map }

func (s *refreshes) get(app types.NamespacedName) sentRefresh {
	value, _ := s.sent.Load(app)
	sent, _ := value.(sentRefresh)
	return sent
}

// sentRefresh is a refresh with its identity. After the refresh was removed from the Application,
// ended is the last version that had it.
type sentRefresh struct {
	id, ended string
	// done is when the managed cluster was first observed to have compared.
	done time.Time
}

// of returns the identity of the refresh that the Application asks for. It returns "" if the
// refresh has no identity yet. ended is true if the refresh was removed, and app is an older
// version.
func (s *refreshes) of(app *argocd.Application) (id string, ended bool) {
	key := client.ObjectKeyFromObject(app)
	sent := s.get(key)
	switch {
	case sent.ended == "" && app.Annotations[argocd.RefreshAnnotation] != "":
		return sent.id, false
	case sent.ended != "" && !isAfter(app.ResourceVersion, sent.ended):
		return "", true
	}
	s.sent.Delete(key) // the Application now has another refresh
	return "", false
}

// isAfter reports whether a version of an Application is later than another one.
func isAfter(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil && version != other || order > 0
}

// send records that a refresh is about to be sent.
func (s *refreshes) send(app types.NamespacedName, id string) {
	if s.get(app).id != id {
		s.sent.Store(app, sentRefresh{id: id})
	}
}

// markDone records when a refresh was first observed to be done.
func (s *refreshes) markDone(app types.NamespacedName, id string, now time.Time) {
	if sent := s.get(app); sent.id == id && sent.done.IsZero() {
		sent.done = now
		s.sent.Store(app, sent)
	}
}

// end records the outcome of the write that removed a refresh from that version of the Application.
func (s *refreshes) end(app types.NamespacedName, id, version string, outcome error) {
	switch {
	case outcome == nil:
		s.sent.Store(app, sentRefresh{id: id, ended: version})
	case !apierrors.IsConflict(outcome): // after a conflict it still has to be removed
		s.sent.Delete(app) // it may be removed, and the next one set
	}
}

// forget forgets the refresh of an Application.
func (s *refreshes) forget(app types.NamespacedName) { s.sent.Delete(app) }
