// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

func TestPlanRefresh(t *testing.T) {
	asking := func(word, version string) *argocd.Application {
		app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", UID: "0123456789abcdef", ResourceVersion: version, Annotations: map[string]string{argocd.RefreshAnnotation: word},
		}}
		if word == "" {
			app.Annotations = nil
		}
		return app
	}
	idOf := func(word, version string) string { return newClaim(asking(word, version), []string{KindRefresh}) }
	// work carries the request sent. The cluster has applied the request applied, and refresh is still
	// pending.
	work := func(sent, applied, refresh, owner string) *manifestcache.Work {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 3, Annotations: map[string]string{contract.RequestAnnotation: sent}}}
		m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural}}
		for name, value := range map[string]string{contract.FeedbackRequest: applied, contract.FeedbackRefresh: refresh, contract.FeedbackOperationOwner: owner} {
			if value != "" {
				m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
			}
		}
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
		kept, _ := manifestcache.Compact(w, nil)
		return kept
	}
	first, second, hard := idOf("normal", "1"), idOf("normal", "2"), idOf("hard", "2")
	for name, c := range map[string]struct {
		reason   string
		app      *argocd.Application
		work     *manifestcache.Work
		known    Known
		step     Step
		id       string
		replaced bool
		done     []string
	}{
		"new":                   {reason: "no claim comes before it", app: asking("normal", "1"), step: StepSend, id: first},
		"newToWork":             {reason: "also to a work that is there", app: asking("normal", "1"), work: work("", "", "", ""), step: StepSend, id: first},
		"sentTwice":             {reason: "a cache that is behind gives it no other identity", app: asking("normal", "2"), work: work("", "", "", ""), known: Known{Refreshing: first}, step: StepSend, id: first},
		"waits":                 {reason: "the cluster has not applied it", app: asking("normal", "2"), work: work(first, "", "", ""), known: Known{Refreshing: first}, step: StepSend, id: first},
		"under way":             {reason: "or has not compared", app: asking("normal", "2"), work: work(first, first, "normal", ""), known: Known{Refreshing: first}, step: StepSend, id: first},
		"done":                  {reason: "it has", app: asking("normal", "2"), work: work(first, first, "", ""), known: Known{Refreshing: first}, step: StepFinish, id: first, done: []string{KindRefresh}},
		"unknown":               {reason: "what is done may be the one before", app: asking("normal", "2"), work: work(first, first, "", ""), step: StepSend, id: second},
		"other word":            {reason: "a hard one takes the place of a normal one", app: asking("hard", "2"), work: work(first, first, "normal", ""), known: Known{Refreshing: first}, step: StepSend, id: hard},
		"ended":                 {reason: "the Application is from before its end", app: asking("normal", "2"), work: work(first, first, "", ""), known: Known{Refreshed: true}, step: StepSend},
		"taken back":            {reason: "nothing is asked for", app: asking("", "2"), work: work(first, "", "", ""), step: StepSend},
		"operation":             {reason: "one that runs is not lost", app: asking("normal", "2"), work: work("operation-0-1", "operation-0-1", "", "agent"), step: StepHold, id: "operation-0-1", replaced: true},
		"operation has run":     {reason: "and then it is its turn", app: asking("normal", "2"), work: work("operation-0-1", "operation-0-1", "", ""), step: StepSend, id: second},
		"of an earlier version": {reason: "a claim on the hub is seen through", app: asking("normal", "2"), work: work(first, first, "", ""), known: Known{Claim: first}, step: StepFinish, id: first, done: []string{KindRefresh}},
	} {
		t.Run(name, func(t *testing.T) {
			got := PlanFor(c.app, c.work, c.known)
			if got.Step != c.step || got.Request.ID != c.id || got.Replaced != c.replaced || !slices.Equal(got.Done, c.done) {
				t.Errorf("%s: got %+v", c.reason, got)
			}
			if IsRefresh(got.Request.ID) && got.Request.Refresh != c.app.Annotations[argocd.RefreshAnnotation] {
				t.Errorf("%s: it is %q", c.reason, got.Request.Refresh)
			}
		})
	}
	with := asking("normal", "2")
	with.Operation = []byte(`{"sync":{}}`)
	claim := newClaim(with, []string{KindOperation, KindRefresh})
	if got := PlanFor(with, work(first, first, "normal", ""), Known{Refreshing: first}); got.Step != StepClaim || got.Request.ID != claim {
		t.Errorf("an operation beside it is claimed: got %+v", got)
	}
	if got := PlanFor(with, work(first, first, "normal", ""), Known{Claim: claim, Refreshing: first}); got.Step != StepSend || got.Request.ID != claim {
		t.Errorf("and does not wait for it: got %+v", got)
	}
	if IsRefresh(claim) || IsRefresh("") || IsRefresh("operation-0-1") || !IsRefresh(first) {
		t.Error("a refresh alone is told from what it is not")
	}
}
