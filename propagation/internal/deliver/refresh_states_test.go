// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A pause keeps the refresh on the hub. One that was under way is taken off when it has
// been, so that the next one is not taken for it.
func TestRefreshOfAPausedApplication(t *testing.T) {
	for _, word := range []string{"delivery", "sync"} {
		t.Run(word, func(t *testing.T) {
			start(t)
			p := newPlace(t)
			app := p.deploy("guestbook")
			m := deliveredTo(t, app, p.cluster)
			refresh(t, app, "normal")
			inWork(t, app, "normal")
			pause(t, app, word)
			late := p.deploy("late", func(a *argocd.Application) { a.Annotations[contract.PausedAnnotation] = word })
			says(t, late, policy.WarningCondition, "paused")
			compared(t, app, m)
			says(t, app, policy.WarningCondition, "")
			refresh(t, app, "normal")
			says(t, app, policy.WarningCondition, "paused ("+word+")")
			m.apply()
			m.begin()
			m.report()
			if m.refreshed != 1 || refreshGone(app) == nil {
				t.Fatalf("paused, the managed cluster refreshed %d times, and %v", m.refreshed, refreshGone(app))
			}
			pause(t, app, "")
			compared(t, app, m)
			says(t, app, policy.WarningCondition, "")
			if m.refreshed != 2 {
				t.Errorf("the managed cluster refreshed %d times", m.refreshed)
			}
		})
	}
}

// An Application whose withdrawal is held, or that was withdrawn, keeps the refresh that it
// is asked for until it is delivered again.
func TestRefreshOfAWithdrawnApplication(t *testing.T) {
	running := start(t, guarded(newHubNamespace(t)))
	g := generate(t)
	app := g.apps[0]
	g.each(many, func(a *argocd.Application) {
		edit(t, a, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "false" })
	})
	g.awaitHeld("ApplicationSet")
	before := len(running.requests.doneIn(g.cluster))
	refresh(t, app, "normal")
	another(t)
	if got := running.requests.doneIn(g.cluster)[before:]; len(got) > 0 || refreshGone(app) == nil {
		t.Errorf("a held Application's refresh was followed: %q, %v", got, refreshGone(app))
	}
	edit(t, app, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "true" })
	m := &managed{t: t, work: client.ObjectKeyFromObject(delivered(t, app, g.cluster))}
	inWork(t, app, "normal")
	compared(t, app, m)
	g.decide(g.set, "approve")
	edit(t, app, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "false" })
	withdrawn(t, app)
	refresh(t, app, "normal")
	edit(t, app, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "true" })
	m = &managed{t: t, work: client.ObjectKeyFromObject(delivered(t, app, g.cluster))}
	inWork(t, app, "normal")
	compared(t, app, m)
	if m.refreshed != 1 {
		t.Errorf("the managed cluster refreshed %d times", m.refreshed)
	}
}

// A refresh that an earlier version has claimed is seen through.
func TestRefreshOfAnEarlierVersion(t *testing.T) {
	p := newPlace(t)
	app := p.deploy("guestbook")
	first := start(t)
	m := deliveredTo(t, app, p.cluster)
	first.stop()
	claim := request.ClaimMessage("refresh-0123456789", p.cluster)
	edit(t, app, func(a *argocd.Application) {
		a.Annotations[argocd.RefreshAnnotation] = "normal"
		a.Status = []byte(`{"conditions":[{"type":"` + request.ClaimCondition + `","message":` + fmt.Sprintf("%q", claim) + `,"lastTransitionTime":"` + metav1.Now().UTC().Format("2006-01-02T15:04:05Z") + `"}]}`)
	})
	start(t)
	compared(t, app, m)
	says(t, app, request.ClaimCondition, "")
	if m.refreshed < 1 {
		t.Error("the managed cluster has not refreshed")
	}
}

// A cache that does not show yet that the refresh was taken off does not make another one
// of it.
func TestRefreshIsNotSentAgainByAStaleCache(t *testing.T) {
	frozen := newFreezer("applications")
	startFrozen(t, frozen)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	refresh(t, app, "normal")
	inWork(t, app, "normal")
	frozen.freeze()
	compared(t, app, m)
	id := m.get().Annotations[contract.RequestAnnotation]
	edit(t, m.get(), func(w *workv1.ManifestWork) { w.Labels[contract.ApplicationSetLabel] = "true" })
	testkit.Eventually(t, "the work to be looked at", func() error {
		if w := m.get(); w.Labels[contract.ApplicationSetLabel] != "" {
			return errors.New("it still has another's label")
		}
		return nil
	})
	if now := m.get().Annotations[contract.RequestAnnotation]; now != id {
		t.Errorf("%s was sent after %s", now, id)
	}
	frozen.thaw()
	marked(t, app)
}

// The refresh leaves the hub after the status that it has led to, which Argo CD's clients
// take for the answer. What comes with it from them leaves with it.
func TestRefreshLeavesAfterItsStatus(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	edit(t, app, func(a *argocd.Application) {
		a.Annotations[argocd.RefreshAnnotation], a.Annotations[argocd.HydrateAnnotation] = "normal", "normal"
	})
	inWork(t, app, "normal")
	if err := carries(t, app, `"`+argocd.HydrateAnnotation+`":"normal"`); err != nil {
		t.Error(err)
	}
	m.values = map[string]string{contract.FeedbackSyncStatus: argocd.SyncSynced, contract.FeedbackSyncRevision: "53e28ff2"}
	began := time.Now()
	m.apply()
	m.begin()
	m.report()
	edit(t, m.get(), func(w *workv1.ManifestWork) { w.Labels[contract.ApplicationSetLabel] = "true" })
	testkit.Eventually(t, "the work to be looked at", func() error {
		if w := m.get(); w.Labels[contract.ApplicationSetLabel] != "" {
			return errors.New("it still has another's label")
		}
		return nil
	})
	if refreshGone(app) == nil && time.Since(began) < 10*time.Second {
		t.Error("it is gone, and the status is the one from before")
	}
	edit(t, app, func(a *argocd.Application) { a.Status = []byte(`{"sync":{"status":"Synced","revision":"53e28ff2"}}`) })
	testkit.Eventually(t, "the refresh to leave the hub", func() error { return refreshGone(app) })
	stored := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil || stored.Annotations[argocd.HydrateAnnotation] != "" {
		t.Errorf("the annotations are %v, %v", stored.Annotations, err)
	}
	marked(t, app)
	if err := carries(t, app, argocd.HydrateAnnotation); err == nil {
		t.Error("the work still has what came with the refresh")
	}
}
