// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refreshes

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

var teamApp = types.NamespacedName{Namespace: "team", Name: "app"}

// asking is an Application of that version that asks for a refresh, "" for none.
func asking(word, version string) *argocd.Application {
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "app", UID: "0123456789abcdef", ResourceVersion: version, Annotations: map[string]string{argocd.RefreshAnnotation: word},
	}}
	if word == "" {
		app.Annotations = nil
	}
	return app
}

func idOf(word, version string) string {
	return request.PlanFor(asking(word, version), nil, request.Known{}).Request.ID
}

// carrying is a work with the request sent; the cluster last applied applied, of which
// refresh is left to do.
func carrying(sent, applied, refresh string) *manifestcache.Work {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 3, Annotations: map[string]string{contract.RequestAnnotation: sent}}}
	m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural}}
	for name, value := range map[string]string{contract.FeedbackRequest: applied, contract.FeedbackRefresh: refresh} {
		if value != "" {
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
		}
	}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	kept, _ := manifestcache.Compact(w, nil)
	return kept
}

// A refresh is done when the cluster has compared for the very one that was sent.
func TestRefreshDone(t *testing.T) {
	sent, hard := idOf("normal", "1"), idOf("hard", "1")
	both := asking("normal", "2")
	both.Operation = []byte(`{"sync":{}}`)
	for name, c := range map[string]struct {
		sent string
		app  *argocd.Application
		work *manifestcache.Work
		want string
	}{
		"done":                 {sent: sent, app: asking("normal", "2"), work: carrying(sent, sent, ""), want: sent},
		"not known":            {app: asking("normal", "2"), work: carrying(sent, sent, "")},
		"not applied":          {sent: sent, app: asking("normal", "2"), work: carrying(sent, "", "")},
		"not compared":         {sent: sent, app: asking("normal", "2"), work: carrying(sent, sent, "normal")},
		"another one was sent": {sent: sent, app: asking("normal", "2"), work: carrying(hard, hard, "")},
		"another one is asked": {sent: sent, app: asking("hard", "2"), work: carrying(sent, sent, "")},
		"none is asked":        {sent: sent, app: asking("", "2"), work: carrying(sent, sent, "")},
		"an operation as well": {sent: sent, app: both, work: carrying(sent, sent, "")},
		"no work":              {sent: sent, app: asking("normal", "2")},
	} {
		t.Run(name, func(t *testing.T) {
			memory := &Memory{}
			if c.sent != "" {
				memory.Send(teamApp, c.sent)
			}
			if got := memory.Done(c.app, c.work); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got, _, err := memory.Of(asking("normal", "3")); got != c.sent || err != nil {
				t.Errorf("it was changed to %q, %v", got, err)
			}
		})
	}
}

// Of two that would take a refresh off, one does; and only that one says what came of it.
func TestRefreshEndsOnce(t *testing.T) {
	id, version := idOf("normal", "1"), "2"
	conflict := apierrors.NewConflict(schema.GroupResource{}, "app", errors.New("changed"))
	for name, c := range map[string]struct {
		outcome error
		// id is what is then known of the version after, done whether it is there to be taken off.
		id    string
		ended bool
	}{
		"taken off": {ended: true},
		"conflict":  {outcome: conflict, id: id},
		"unclear":   {outcome: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			memory := &Memory{}
			memory.Send(teamApp, id)
			if memory.End(teamApp, idOf("hard", "1"), version) == nil {
				t.Error("another one was to be taken off")
			}
			if memory.End(teamApp, id, version) != nil || memory.End(teamApp, id, version) == nil || memory.End(teamApp, id, "3") == nil {
				t.Error("want the first alone to take it off")
			}
			if got := memory.Done(asking("normal", version), carrying(id, id, "")); got != "" {
				t.Errorf("%q is done while it is taken off", got)
			}
			memory.Ended(teamApp, id, "1", conflict) // of another write
			memory.Send(teamApp, id)                 // by who has not heard of its end
			memory.Ended(teamApp, id, version, c.outcome)
			for _, before := range []string{version, "1"} {
				if got, ended, err := memory.Of(asking("normal", before)); got != c.id || ended != c.ended || err != nil {
					t.Errorf("of version %s: got %q, %t, %v, want %q, %t", before, got, ended, err, c.id, c.ended)
				}
			}
			if again := memory.End(teamApp, id, "3") == nil; again == c.ended {
				t.Errorf("it is to be taken off again: %t", again)
			}
			memory.Ended(teamApp, id, "3", nil)
			if got, ended, err := memory.Of(asking("normal", "4")); got != "" || ended || err != nil {
				t.Errorf("the next one: got %q, %t, %v, want none", got, ended, err)
			}
			next := idOf("normal", "4")
			memory.Send(teamApp, next)
			memory.Ended(teamApp, id, "3", conflict) // which comes late
			if got, _, err := memory.Of(asking("normal", "4")); got != next || err != nil {
				t.Errorf("the next one is %q, %v", got, err)
			}
		})
	}
}

// While a refresh is taken off, what an Application asks for that has changed meanwhile may
// be that one or the next: it is known when the write is through. One that asks for none is
// past it.
func TestRefreshWhileItEnds(t *testing.T) {
	id := idOf("normal", "1")
	for name, c := range map[string]struct {
		app      *argocd.Application
		ended    bool
		conflict bool
	}{
		"the version that it is taken off": {app: asking("normal", "10"), ended: true},
		"one of before":                    {app: asking("normal", "9"), ended: true},
		"one of after":                     {app: asking("normal", "11"), conflict: true},
		"one of after, without":            {app: asking("", "11")},
		"one of after, not a number":       {app: asking("normal", "x"), conflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			memory := &Memory{}
			memory.Send(teamApp, id)
			if err := memory.End(teamApp, id, "10"); err != nil {
				t.Fatal(err)
			}
			got, ended, err := memory.Of(c.app)
			if got != "" || ended != c.ended || apierrors.IsConflict(err) != c.conflict || (err != nil) != c.conflict {
				t.Errorf("got %q, %t, %v, want ended %t, a conflict %t", got, ended, err, c.ended, c.conflict)
			}
		})
	}
}

// What a process finds sent and done is not known any more when another client has changed
// the Application meanwhile: the refresh that is there then may be the next one.
func TestRefreshThatWasFoundDone(t *testing.T) {
	id := idOf("normal", "1")
	memory := &Memory{}
	if memory.End(teamApp, id, "1") != nil {
		t.Error("it is not to be taken off")
	}
	memory.Ended(teamApp, id, "1", apierrors.NewConflict(schema.GroupResource{}, "app", errors.New("changed")))
	if got := memory.Done(asking("normal", "2"), carrying(id, id, "")); got != "" {
		t.Errorf("%q is done", got)
	}
	if got, ended, err := memory.Of(asking("normal", "2")); got != "" || ended || err != nil {
		t.Errorf("got %q, %t, %v, want none", got, ended, err)
	}
}

// How long a refresh has been done is counted from when that was seen first.
func TestRefreshDoneFor(t *testing.T) {
	memory, now := &Memory{}, time.Unix(100, 0)
	id := idOf("normal", "1")
	if _, known := memory.DoneFor(teamApp, id, now); known {
		t.Error("one that was not sent is known")
	}
	memory.Send(teamApp, id)
	for _, want := range []time.Duration{0, 3 * time.Second, 5 * time.Second} {
		if got, known := memory.DoneFor(teamApp, id, now.Add(want)); got != want || !known {
			t.Errorf("got %s, %t, want %s", got, known, want)
		}
	}
	memory.Forget(teamApp)
	if _, known := memory.DoneFor(teamApp, id, now); known {
		t.Error("one that was forgotten is known")
	}
}
