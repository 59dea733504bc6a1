// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

const plainSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

// deliverable is a world in which everything is right.
func deliverable() world {
	return world{
		app: &argocd.Application{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: "app", UID: "0123456789abcdef",
				Labels:      map[string]string{wire.PullLabel: "true"},
				Annotations: map[string]string{wire.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
			},
			Spec: json.RawMessage(plainSpec),
		},
		cluster: &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}},
		bound:   true,
	}
}

func TestDecide(t *testing.T) {
	now := metav1.Now()
	cases := map[string]struct {
		reason string
		change func(*world)
		want   string // reason of the refusal or first warning
		text   string // the remedy
		mild   bool
		keep   bool // what runs stays
	}{
		"allRight":     {reason: "nothing is in the way", change: func(*world) {}, want: ReasonDelivered},
		"one":          {reason: "ParseBool takes 1 for true", change: func(w *world) { w.app.Labels[wire.PullLabel] = "1" }, want: ReasonDelivered},
		"noBoolean":    {reason: "a label that is no boolean is not guessed at", change: func(w *world) { w.app.Labels[wire.PullLabel] = "yes" }, want: ReasonInvalidLabel, text: "set it to"},
		"turnedOff":    {reason: "false is the user's wish, but it is said", change: func(w *world) { w.app.Labels[wire.PullLabel] = "false" }, want: ReasonTurnedOff, text: "remove it", mild: true},
		"noLabel":      {reason: "an annotation alone is a slip", change: func(w *world) { w.app.Labels = nil }, want: ReasonNoLabel, text: "set the label", mild: true},
		"neither":      {reason: "an Application that asks for nothing hears nothing", change: func(w *world) { w.app.Labels, w.app.Annotations = nil, nil }, want: ""},
		"noAnnotation": {reason: "the label alone does not say where to", change: func(w *world) { delete(w.app.Annotations, wire.ClusterAnnotation) }, want: ReasonNoCluster, text: "name of a ManagedCluster"},
		"badCluster":   {reason: "no cluster can be called that", change: func(w *world) { w.app.Annotations[wire.ClusterAnnotation] = "../kube-system" }, want: ReasonInvalidTarget, text: "ManagedCluster"},
		"longCluster":  {reason: "a cluster's name is that of a namespace", change: func(w *world) { w.app.Annotations[wire.ClusterAnnotation] = strings.Repeat("a", 64) }, want: ReasonInvalidTarget},
		"badNamespace": {reason: "no namespace can be called that", change: func(w *world) { w.app.Annotations[wire.AppNamespaceAnnotation] = "A b" }, want: ReasonInvalidTarget, text: "namespace", keep: true},
		"noSpec":       {reason: "there is nothing to deliver", change: func(w *world) { w.app.Spec = nil }, want: ReasonInvalidSpec, text: "no spec", keep: true},
		"nullSpec":     {reason: "null is nothing", change: func(w *world) { w.app.Spec = json.RawMessage("null") }, want: ReasonInvalidSpec, keep: true},
		"listSpec":     {reason: "a spec that is no object is named, no panic", change: func(w *world) { w.app.Spec = json.RawMessage("[1]") }, want: ReasonInvalidSpec, keep: true},
		"badDest":      {reason: "nor a destination that is none", change: func(w *world) { w.app.Spec = json.RawMessage(`{"destination":"x"}`) }, want: ReasonInvalidSpec, keep: true},
		"slipUnbound":  {reason: "without a binding a slip keeps nothing", change: func(w *world) { w.app.Annotations[wire.AppNamespaceAnnotation], w.bound = "A b", false }, want: ReasonNotBound},
		"unknown":      {reason: "no such cluster", change: func(w *world) { w.cluster = nil }, want: ReasonUnknownCluster, text: "register"},
		"localLabel":   {reason: "the hub is no target", change: func(w *world) { w.cluster.Labels = map[string]string{wire.LocalClusterLabel: "true"} }, want: ReasonLocalCluster, text: "another cluster"},
		"localName":    {reason: "nor by its name", change: func(w *world) { w.cluster.Name = "local-cluster" }, want: ReasonLocalCluster},
		"leaving":      {reason: "a cluster that goes gets nothing new", change: func(w *world) { w.cluster.DeletionTimestamp = &now }, want: ReasonClusterLeaving},
		"notBound":     {reason: "a tenant uses only its own clusters", change: func(w *world) { w.bound = false }, want: ReasonNotBound, text: "create a Placement"},
		"unknownFirst": {reason: "that there is no cluster helps more than that it is not bound", change: func(w *world) { w.cluster, w.bound = nil, false }, want: ReasonUnknownCluster},
		"noSkip":       {reason: "two controllers would fight: a warning", change: func(w *world) { delete(w.app.Annotations, argocd.SkipReconcileAnnotation) }, want: ReasonSkipReconcile, text: "set annotation"},
		"forbidden": {
			reason: "the project would turn it away over there: a warning, never a wider project",
			change: func(w *world) {
				w.project = &argocd.AppProject{Spec: json.RawMessage(`{"destinations":[{"name":"cluster1","namespace":"*"}]}`)}
			},
			want: ReasonProjectForbids, text: "spec.destinations",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := deliverable()
			c.change(&w)
			v := decide(w)
			_, got := standing(v)
			if got != c.want || v.Mild != c.mild || v.Keep != c.keep {
				t.Errorf("%s: got %q (mild %t, keep %t), want %q", c.reason, got, v.Mild, v.Keep, c.want)
			}
			text := v.Refusal.Message
			for _, warning := range v.Warnings {
				text += warning.Message
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("%s: %q does not say %q", c.reason, text, c.text)
			}
		})
	}
}

func TestProjectAllows(t *testing.T) {
	const inCluster = "https://kubernetes.default.svc"
	cases := map[string]struct {
		reason       string
		destinations string
		annotations  map[string]string
		want         bool
	}{
		"all":           {reason: "stars let everything through", destinations: `[{"server":"*","namespace":"*"}]`, want: true},
		"inCluster":     {reason: "the managed cluster itself", destinations: `[{"server":"` + inCluster + `","namespace":"guestbook"}]`, want: true},
		"glob":          {reason: "a star crosses slashes", destinations: `[{"server":"https://*","namespace":"guest*"}]`, want: true},
		"alternatives":  {reason: "one of several", destinations: `[{"server":"*","namespace":"{shop,guestbook}"}]`, want: true},
		"otherSpace":    {reason: "another namespace", destinations: `[{"server":"*","namespace":"kube-system"}]`},
		"hubName":       {reason: "the hub's name for the cluster means nothing there", destinations: `[{"name":"cluster1","namespace":"*"}]`},
		"denied":        {reason: "a no beats a yes", destinations: `[{"server":"*","namespace":"*"},{"server":"*","namespace":"!guestbook"}]`},
		"deniedOther":   {reason: "a no to others is a yes", destinations: `[{"server":"*","namespace":"!kube-system"}]`, want: true},
		"none":          {reason: "no entry, no entry", destinations: `[]`},
		"byName":        {reason: "an override by name", destinations: `[{"name":"in-*","namespace":"*"}]`, annotations: map[string]string{wire.DestinationNameAnnotation: "in-cluster"}, want: true},
		"brokenPattern": {reason: "a pattern that is none matches nothing", destinations: `[{"server":"[","namespace":"*"}]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := projectAllows(json.RawMessage(`{"destinations":`+c.destinations+`}`), json.RawMessage(plainSpec), c.annotations); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
	if !projectAllows(json.RawMessage(`[]`), json.RawMessage(plainSpec), nil) {
		t.Error("a project that cannot be read is the managed cluster's to judge")
	}
}
