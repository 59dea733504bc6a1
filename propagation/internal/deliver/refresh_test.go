// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// refresh requests a refresh as Argo CD's API server does for a webhook, for `argocd app get --refresh`, and
// for the button of the UI.
func refresh(t *testing.T, app *argocd.Application, word string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, argocd.RefreshAnnotation, word)
	if err := hub.client.Patch(context.Background(), app.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatalf("ask for a refresh: %v", err)
	}
}

// compared runs the managed cluster until the hub has no refresh annotation.
func compared(t *testing.T, app *argocd.Application, m *managed) {
	t.Helper()
	testkit.Eventually(t, "the refresh to leave the hub", func() error {
		m.apply()
		m.report() // applied, not compared yet
		m.begin()
		m.report()
		return refreshGone(app)
	})
}

func refreshGone(app *argocd.Application) error {
	stored := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
		return err
	}
	if word := stored.Annotations[argocd.RefreshAnnotation]; word != "" {
		return fmt.Errorf("it is still there: %s", word)
	}
	return nil
}

// marked adds a label to the Application and waits until its work has the label. All earlier changes are
// written by then.
func marked(t *testing.T, app *argocd.Application) {
	t.Helper()
	mark := fmt.Sprintf("mark-%d", serial.Add(1))
	edit(t, app, func(a *argocd.Application) { a.Labels["example.com/mark"] = mark })
	testkit.Eventually(t, "the label in the work", func() error { return carries(t, app, mark) })
}

// inWork waits until the work carries the refresh.
func inWork(t *testing.T, app *argocd.Application, word string) {
	t.Helper()
	testkit.Eventually(t, "the refresh in the work", func() error { return carries(t, app, `"`+argocd.RefreshAnnotation+`":"`+word+`"`) })
}

// counted returns the number of writes for place, when none is running.
func (p *propagation) counted(t *testing.T, app *argocd.Application, place *place) int {
	t.Helper()
	marked(t, app)
	n := 0
	testkit.Eventually(t, "the label to be counted", func() error {
		done := p.requests.doneIn(place.namespace, place.cluster)
		n = len(done)
		if asked := len(p.requests.in(place.namespace, place.cluster)); n == 0 || n+p.requests.refusedIn(place.namespace, place.cluster) != asked {
			return fmt.Errorf("%d of %d", n, asked)
		}
		return nil
	})
	return n
}

// wrote waits until the writes for place since from are the desired writes, in short form. The API server
// finishes a write before the test counts its answer.
func (p *propagation) wrote(place *place, from int, want ...string) {
	place.t.Helper()
	testkit.Eventually(place.t, "the writes to be counted", func() error {
		var list []string
		for _, r := range p.requests.doneIn(place.namespace, place.cluster)[from:] {
			verb, path, _ := strings.Cut(r, " ")
			kind := path[:strings.LastIndex(path, "/")]
			list = append(list, verb+" "+kind[strings.LastIndex(kind, "/")+1:])
		}
		if len(list) > len(want) {
			place.t.Fatalf("written were %q, want %q", list, want)
		}
		if !slices.Equal(list, want) {
			return fmt.Errorf("%q, want %q", list, want)
		}
		return nil
	})
}

const patchesWork, patchesApp = "PATCH manifestworks", "PATCH applications"

// The first write sends the refresh to the managed cluster. The second write removes it from the hub after
// the cluster has compared. The same refresh again is a new request.
func TestRefresh_takesTwoWrites(t *testing.T) {
	for _, word := range []string{"normal", "hard"} {
		t.Run(word, func(t *testing.T) {
			running := start(t)
			p := newPlace(t)
			app := p.deploy("guestbook")
			m := deliveredTo(t, app, p.cluster)
			marked(t, app)
			compared(t, app, m)
			for i := 1; i <= 3; i++ {
				before := running.counted(t, app, p)
				refresh(t, app, word)
				inWork(t, app, word)
				compared(t, app, m)
				marked(t, app) // the third write, which removes the refresh from the work
				if err := carries(t, app, argocd.RefreshAnnotation); err == nil {
					t.Error("the label was delivered together with a refresh that has been")
				}
				running.wrote(p, before, patchesWork, patchesApp, patchesWork)
				m.apply()
				m.begin()
				m.report()
				if m.refreshed != i {
					t.Fatalf("after %d refreshes the managed cluster refreshed %d times", i, m.refreshed)
				}
			}
			if m := storedConditions(t, app); len(m) > 0 {
				t.Errorf("it says %v", m)
			}
		})
	}
}

func TestRefresh_survivesADowntime(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	first.stop()
	refresh(t, app, "normal")
	second := start(t)
	compared(t, app, m)
	marked(t, app)
	second.wrote(p, 0, patchesWork, patchesApp, patchesWork)
	if m.refreshed != 1 {
		t.Errorf("the managed cluster refreshed %d times", m.refreshed)
	}
	second.stop()
	third := start(t) // with a work that carries a finished refresh
	marked(t, app)
	third.wrote(p, 0, patchesWork)
}

// propagation crashes at either write, before or after sending it. The refresh is not lost, and runs at most
// twice.
func TestRefresh_survivesCrashes(t *testing.T) {
	for _, lost := range []string{"request", "answer"} {
		for n := int64(1); n <= 2; n++ {
			t.Run(fmt.Sprintf("%s-%d", lost, n), func(t *testing.T) {
				first := start(t)
				p := newPlace(t)
				app := p.deploy("guestbook")
				m := deliveredTo(t, app, p.cluster)
				first.stop()
				dead, crashed := startToCrash(t, p, n, lost == "answer")
				refresh(t, app, "normal")
				testkit.Eventually(t, "the crash", func() error {
					m.apply()
					m.begin()
					m.report()
					select {
					case <-crashed:
						return nil
					default:
						return errors.New("propagation still works")
					}
				})
				dead.stop()
				running := start(t)
				compared(t, app, m)
				if once := n == 1 && lost == "request" || n == 2 && lost == "answer"; m.refreshed != 1 && (once || m.refreshed != 2) {
					t.Errorf("the managed cluster refreshed %d times", m.refreshed)
				}
				before := running.counted(t, app, p)
				refresh(t, app, "normal")
				inWork(t, app, "normal")
				compared(t, app, m)
				running.wrote(p, before, patchesWork, patchesApp)
			})
		}
	}
}

// After a restart, a finished refresh in the work may belong to an earlier request. propagation removes a
// request only after it has sent a refresh for it.
func TestRefresh_isNotConfusedWithAnEarlierOne(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	refresh(t, app, "normal")
	inWork(t, app, "normal")
	compared(t, app, m)
	first.stop()
	refresh(t, app, "normal") // the same word as the finished refresh in the work
	start(t)
	compared(t, app, m)
	if m.refreshed != 2 {
		t.Errorf("the managed cluster refreshed %d times", m.refreshed)
	}
}

// A second push during a refresh changes nothing, as in Argo CD. A request with another word replaces the
// refresh at once, even if the cluster does not answer.
func TestRefresh_isReplacedByAnotherWordAtOnce(t *testing.T) {
	running := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	before := running.counted(t, app, p)
	refresh(t, app, "normal")
	inWork(t, app, "normal")
	refresh(t, app, "normal")
	refresh(t, app, "hard")
	inWork(t, app, "hard")
	compared(t, app, m)
	running.wrote(p, before, patchesWork, patchesWork, patchesApp)
	if m.refreshed != 1 {
		t.Errorf("the managed cluster refreshed %d times", m.refreshed)
	}
}

// Neither an edit nor an operation waits for a refresh that the cluster has not answered.
func TestRefresh_delaysNothing(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	refresh(t, app, "normal")
	inWork(t, app, "normal")
	setPath(t, app, "guestbook", "edited")
	testkit.Eventually(t, "the edit", func() error {
		return errors.Join(carries(t, app, `"path":"edited"`), carries(t, app, `"`+argocd.RefreshAnnotation+`":"normal"`))
	})
	ask(t, app)
	sent(t, app, m)
	if err := carries(t, app, `"`+argocd.RefreshAnnotation+`":"normal"`); err != nil {
		t.Error(err)
	}
	if warning := storedConditions(t, app)[policy.WarningCondition]; warning != "" {
		t.Errorf("it says %q", warning)
	}
	m.begin()
	m.report()
	m.end()
	m.report()
	settledAgain(t, app, m)
	if m.ran != 1 || m.refreshed != 1 {
		t.Errorf("the managed cluster ran %d operations and refreshed %d times", m.ran, m.refreshed)
	}
}

// A pause keeps a new refresh on the hub. propagation removes a running refresh once it is finished, so that
// it does not answer the next request.
func TestRefresh_waitsForTheEndOfAPause(t *testing.T) {
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
			awaitCondition(t, late, policy.WarningCondition, "paused")
			compared(t, app, m)
			awaitCondition(t, app, policy.WarningCondition, "")
			refresh(t, app, "normal")
			awaitCondition(t, app, policy.WarningCondition, "paused ("+word+")")
			m.apply()
			m.begin()
			m.report()
			if m.refreshed != 1 || refreshGone(app) == nil {
				t.Fatalf("paused, the managed cluster refreshed %d times, and %v", m.refreshed, refreshGone(app))
			}
			pause(t, app, "")
			compared(t, app, m)
			awaitCondition(t, app, policy.WarningCondition, "")
			if m.refreshed != 2 {
				t.Errorf("the managed cluster refreshed %d times", m.refreshed)
			}
		})
	}
}

// If the removal of an Application is held or finished, the hub keeps a requested refresh until the
// Application is delivered again.
func TestRefresh_waitsForTheNextDelivery(t *testing.T) {
	running := start(t, withBudget(newHubNamespace(t)))
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

// propagation completes a refresh that an earlier version has claimed.
func TestRefresh_completesAClaimOfAnEarlierVersion(t *testing.T) {
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
	awaitCondition(t, app, request.ClaimCondition, "")
	if m.refreshed < 1 {
		t.Error("the managed cluster has not refreshed")
	}
}

// If the cache does not show the removal of a refresh yet, propagation does not send the refresh again.
func TestRefresh_isNotSentAgainByAStaleCache(t *testing.T) {
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

// The refresh leaves the hub after the resulting status is written, because Argo CD's clients wait for that.
// Annotations that clients set with the refresh are removed with it.
func TestRefresh_isRemovedAfterItsStatus(t *testing.T) {
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
