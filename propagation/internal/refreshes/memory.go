// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refreshes

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Memory remembers which refreshes of Applications are under way. It may be lost at any
// time: a refresh that it does not know is sent once more. The zero value knows of none
// and is ready for use.
type Memory struct {
	mu   sync.Mutex
	sent map[types.NamespacedName]sentRefresh
}

// sentRefresh is a refresh by its identity. ended is set when it is taken off the
// Application: the version that had it last.
type sentRefresh struct {
	id, ended string
	// off: it is known to be off the Application.
	off bool
	// unsent: this process has not sent it, but found it sent and done.
	unsent bool
	// done is when the managed cluster was first seen to have compared.
	done time.Time
}

// Of returns the identity of the refresh that the Application asks for, "" when it has
// none yet. ended reports that the refresh was taken off, and app is from before. The
// error is a conflict: one is being taken off just now, and whether app has that one or
// the next is not known before that is through.
func (s *Memory) Of(app *argocd.Application) (id string, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(app)
	is, wanted := s.sent[key], app.Annotations[argocd.RefreshAnnotation] != ""
	switch {
	case is.ended == "" && wanted:
		return is.id, false, nil
	case is.ended != "" && !isAfter(app.ResourceVersion, is.ended):
		return "", true, nil
	case is.ended != "" && wanted && !is.off:
		return "", false, beingEnded(key)
	}
	delete(s.sent, key) // what it has now is another one
	return "", false, nil
}

var errEnding = errors.New("its refresh is being taken off")

func beingEnded(app types.NamespacedName) error {
	return apierrors.NewConflict(argocd.GroupVersion.WithResource(argocd.ApplicationPlural).GroupResource(), app.String(), errEnding)
}

// isAfter reports whether a version of an Application came after another. Who has read one
// may have others overtake it.
func isAfter(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil && version != other || order > 0
}

// Done returns the identity of the refresh that the Application asks for, and nothing else
// with it, when the managed cluster has compared for it, as the work says that carries
// it; "" otherwise, and while it is taken off.
func (s *Memory) Done(app *argocd.Application, work *manifestcache.Work) string {
	s.mu.Lock()
	is := s.sent[client.ObjectKeyFromObject(app)]
	s.mu.Unlock()
	if is.id == "" || is.ended != "" || request.PlanFor(app, work, request.Known{Refreshing: is.id}).Step != request.StepFinish {
		return ""
	}
	return is.id
}

// Send notes that a refresh is about to be sent. One that is known stays what it is: who
// sends may not have heard yet that it is being taken off.
func (s *Memory) Send(app types.NamespacedName, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent[app].id != id {
		s.put(app, sentRefresh{id: id})
	}
}

// put needs the lock.
func (s *Memory) put(app types.NamespacedName, is sentRefresh) {
	if s.sent == nil {
		s.sent = map[types.NamespacedName]sentRefresh{}
	}
	s.sent[app] = is
}

// DoneFor returns for how long a refresh has been done, and whether it is known.
func (s *Memory) DoneFor(app types.NamespacedName, id string, now time.Time) (since time.Duration, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.sent[app]
	if is.id != id {
		return 0, false
	}
	if is.done.IsZero() {
		is.done = now
		s.sent[app] = is
	}
	return now.Sub(is.done), true
}

// End notes that a refresh is about to be taken off that version of the Application, by a
// write whose outcome is for [Memory.Ended]. It returns a conflict when another write does
// so already, or another refresh is known: the caller is not to take it off then.
func (s *Memory) End(app types.NamespacedName, id, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.sent[app]
	if is.ended != "" || is.id != "" && is.id != id {
		return beingEnded(app)
	}
	s.put(app, sentRefresh{id: id, ended: version, unsent: is.id == ""})
	return nil
}

// Ended says what became of the write that [Memory.End] was called for.
func (s *Memory) Ended(app types.NamespacedName, id, version string, outcome error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.sent[app]
	if is.id != id || is.ended != version {
		return
	}
	if outcome == nil {
		is.off = true
		s.sent[app] = is
		return
	}
	if apierrors.IsConflict(outcome) && !is.unsent {
		s.put(app, sentRefresh{id: id}) // it is still to be taken off
		return
	}
	delete(s.sent, app) // it may be off, and the next one there
}

// Forget forgets the refresh of an Application.
func (s *Memory) Forget(app types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, app)
}
