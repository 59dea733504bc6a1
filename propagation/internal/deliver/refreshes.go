// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// refreshes remembers which refreshes of Applications are under way. It may be lost at any
// time: a refresh that it does not know is sent once more.
type refreshes struct {
	mu   sync.Mutex
	sent map[types.NamespacedName]sentRefresh
}

// sentRefresh is a refresh by its identity. ended is set when it is taken off the
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
	is := s.sent[key]
	if is.ended != "" && is.ended == app.ResourceVersion {
		return "", true
	}
	if is.ended != "" || app.Annotations[argocd.RefreshAnnotation] == "" {
		delete(s.sent, key) // what it has now is another one
		return "", false
	}
	return is.id, false
}

// send notes that a refresh is about to be sent, or is still to be taken off.
func (s *refreshes) send(app types.NamespacedName, id string) { s.put(app, sentRefresh{id: id}) }

// doneFor returns for how long a refresh has been done.
func (s *refreshes) doneFor(app types.NamespacedName, id string, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.sent[app]
	if is.id != id {
		return afterMirror // it is not known, and nothing is to wait for it
	}
	if is.done.IsZero() {
		is.done = now
		s.sent[app] = is
	}
	return now.Sub(is.done)
}

// end notes that a refresh is about to be taken off that version of the Application.
func (s *refreshes) end(app types.NamespacedName, id, version string) {
	s.put(app, sentRefresh{id: id, ended: version})
}

func (s *refreshes) put(app types.NamespacedName, is sentRefresh) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		s.sent = map[types.NamespacedName]sentRefresh{}
	}
	s.sent[app] = is
}

func (s *refreshes) forget(app types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, app)
}

// endRefresh takes a refresh that came alone, and has been, off the Application.
func (r *Reconciler) endRefresh(ctx context.Context, app *argocd.Application, id string) error {
	key := client.ObjectKeyFromObject(app)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": app.ResourceVersion, "annotations": withoutRefresh()}})
	if err != nil {
		return fmt.Errorf("encode Application patch: %w", err)
	}
	r.refreshes.end(key, id, app.ResourceVersion)
	err = r.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).V(1).Info("refresh ended", "request", id)
		return nil
	case apierrors.IsConflict(err):
		r.refreshes.send(key, id)
	default:
		r.refreshes.forget(key) // it may be off, and the next one there
	}
	return client.IgnoreNotFound(fmt.Errorf("end %s of Application %s: %w", id, key, err))
}

// withoutRefresh is what a merge patch says of the annotations of a refresh that has been.
func withoutRefresh() map[string]any {
	return map[string]any{argocd.RefreshAnnotation: nil, argocd.HydrateAnnotation: nil}
}

// mirrored reports whether the Application's status has the sync status and revision that
// its work reports.
func mirrored(w policy.Inputs, current *manifestcache.Cached) bool {
	observed := status.Work(&current.ManifestWork, status.ClusterOf(current.Namespace, w.Cluster))
	var is struct {
		Sync struct{ Status, Revision string } `json:"sync"`
	}
	if !observed.Reported || json.Unmarshal(w.Application.Status, &is) != nil {
		return !observed.Reported
	}
	return is.Sync.Status == observed.Sync && (is.Sync.Revision == observed.Revision || observed.Revision == "")
}
