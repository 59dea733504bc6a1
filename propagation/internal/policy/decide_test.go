// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const plainSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

// deliverable are inputs with which everything is right.
func deliverable() Inputs {
	return Inputs{
		Application: &argocd.Application{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: "app", UID: "0123456789abcdef",
				Labels:      map[string]string{contract.PullLabel: "true"},
				Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
			},
			Spec: json.RawMessage(plainSpec),
		},
		Cluster: &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}},
		Bound:   true,
	}
}

func TestDecide(t *testing.T) {
	now := metav1.Now()
	cases := map[string]struct {
		reason string
		change func(*Inputs)
		want   string // reason of the refusal or first warning
		text   string // the remedy
		mild   bool
		keep   bool // what runs stays
	}{
		"allRight":     {reason: "nothing is in the way", change: func(*Inputs) {}, want: ReasonDelivered},
		"one":          {reason: "ParseBool takes 1 for true", change: func(in *Inputs) { in.Application.Labels[contract.PullLabel] = "1" }, want: ReasonDelivered},
		"noBoolean":    {reason: "a label that is no boolean is not guessed at", change: func(in *Inputs) { in.Application.Labels[contract.PullLabel] = "yes" }, want: ReasonInvalidLabel, text: "set it to"},
		"turnedOff":    {reason: "false is the user's wish, but it is said", change: func(in *Inputs) { in.Application.Labels[contract.PullLabel] = "false" }, want: ReasonTurnedOff, text: "remove it", mild: true},
		"noLabel":      {reason: "an annotation alone is a slip", change: func(in *Inputs) { in.Application.Labels = nil }, want: ReasonNoLabel, text: "set the label", mild: true},
		"neither":      {reason: "an Application that asks for nothing hears nothing", change: func(in *Inputs) { in.Application.Labels, in.Application.Annotations = nil, nil }, want: ""},
		"noAnnotation": {reason: "the label alone does not say where to", change: func(in *Inputs) { delete(in.Application.Annotations, contract.ClusterAnnotation) }, want: ReasonNoCluster, text: "name of a ManagedCluster"},
		"badCluster":   {reason: "no cluster can be called that", change: func(in *Inputs) { in.Application.Annotations[contract.ClusterAnnotation] = "../kube-system" }, want: ReasonInvalidTarget, text: "ManagedCluster"},
		"longCluster":  {reason: "a cluster's name is that of a namespace", change: func(in *Inputs) { in.Application.Annotations[contract.ClusterAnnotation] = strings.Repeat("a", 64) }, want: ReasonInvalidTarget},
		"badNamespace": {reason: "no namespace can be called that", change: func(in *Inputs) { in.Application.Annotations[contract.AppNamespaceAnnotation] = "A b" }, want: ReasonInvalidTarget, text: "namespace", keep: true},
		"noSpec":       {reason: "there is nothing to deliver", change: func(in *Inputs) { in.Application.Spec = nil }, want: ReasonInvalidSpec, text: "no spec", keep: true},
		"nullSpec":     {reason: "null is nothing", change: func(in *Inputs) { in.Application.Spec = json.RawMessage("null") }, want: ReasonInvalidSpec, keep: true},
		"listSpec":     {reason: "a spec that is no object is named, no panic", change: func(in *Inputs) { in.Application.Spec = json.RawMessage("[1]") }, want: ReasonInvalidSpec, keep: true},
		"badDest":      {reason: "nor a destination that is none", change: func(in *Inputs) { in.Application.Spec = json.RawMessage(`{"destination":"x"}`) }, want: ReasonInvalidSpec, keep: true},
		"slipUnbound":  {reason: "without a binding a slip keeps nothing", change: func(in *Inputs) { in.Application.Annotations[contract.AppNamespaceAnnotation], in.Bound = "A b", false }, want: ReasonNotBound},
		"unknown":      {reason: "no such cluster", change: func(in *Inputs) { in.Cluster = nil }, want: ReasonUnknownCluster, text: "register"},
		"localLabel":   {reason: "the hub is no target", change: func(in *Inputs) { in.Cluster.Labels = map[string]string{contract.LocalClusterLabel: "true"} }, want: ReasonLocalCluster, text: "another cluster"},
		"localName":    {reason: "nor by its name", change: func(in *Inputs) { in.Cluster.Name = "local-cluster" }, want: ReasonLocalCluster},
		"leaving":      {reason: "a cluster that goes gets nothing new", change: func(in *Inputs) { in.Cluster.DeletionTimestamp = &now }, want: ReasonClusterLeaving},
		"notBound":     {reason: "a tenant uses only its own clusters", change: func(in *Inputs) { in.Bound = false }, want: ReasonNotBound, text: "create a Placement"},
		"unknownFirst": {reason: "that there is no cluster helps more than that it is not bound", change: func(in *Inputs) { in.Cluster, in.Bound = nil, false }, want: ReasonUnknownCluster},
		"noSkip":       {reason: "two controllers would fight: a warning", change: func(in *Inputs) { delete(in.Application.Annotations, argocd.SkipReconcileAnnotation) }, want: ReasonSkipReconcile, text: "set annotation"},
		"badAdoption":  {reason: "what cannot be followed might take over what it must not", change: func(in *Inputs) { in.Application.Annotations[contract.ManagementPolicyAnnotation] = "yes" }, want: ReasonInvalidTarget, text: "want no-takeover or observe", keep: true},
		"byAgent":      {reason: "two would deliver it", change: func(in *Inputs) { in.ByAgent = "cluster2" }, want: ReasonAlsoByAgent, text: "remove label", keep: true},
		"agentUnbound": {reason: "that it is delivered otherwise keeps nothing that may not be there", change: func(in *Inputs) { in.ByAgent, in.Bound = "cluster1", false }, want: ReasonNotBound},
		"besideAgent":  {reason: "an agent on the cluster is in nobody's way", change: func(in *Inputs) { in.HasAgent = true }, want: ReasonDelivered},
		"goodAdoption": {reason: "what can be is", change: func(in *Inputs) { in.Application.Annotations[contract.ManagementPolicyAnnotation] = "no-takeover" }, want: ReasonDelivered},
		"window": {
			reason: "what says when not to sync is not left behind in silence",
			change: func(in *Inputs) {
				in.Windows = &argocd.AppProject{Spec: json.RawMessage(`{"syncWindows":[{"clusters":["cluster1"]}]}`)}
			},
			want: ReasonWindow, text: "another project",
		},
		"windowEscaped": {
			reason: "nor is one that another destination takes it out of",
			change: func(in *Inputs) {
				in.Application.Annotations[contract.DestinationNameAnnotation] = "virtual"
				in.Project = &argocd.AppProject{Spec: json.RawMessage(`{"destinations":[{"name":"*","namespace":"*"}],"syncWindows":[{"clusters":["cluster1"]}]}`)}
			},
			want: ReasonWindow, text: "to the clusters of the window",
		},
		"otherWindow": {
			reason: "the window of another cluster is none of its business",
			change: func(in *Inputs) {
				in.Windows = &argocd.AppProject{Spec: json.RawMessage(`{"syncWindows":[{"clusters":["cluster2"]}]}`)}
			},
			want: ReasonDelivered,
		},
		"forbidden": {
			reason: "the project would turn it away over there: a warning, never a wider project",
			change: func(in *Inputs) {
				in.Project = &argocd.AppProject{Spec: json.RawMessage(`{"destinations":[{"name":"cluster1","namespace":"*"}]}`)}
			},
			want: ReasonProjectForbids, text: "spec.destinations",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := deliverable()
			c.change(&in)
			v := Decide(in)
			got := v.Reason()
			if got != c.want || (v.Severity == SeverityWarning) != c.mild || v.Keep != c.keep {
				t.Errorf("%s: got %q (severity %d, keep %t), want %q", c.reason, got, v.Severity, v.Keep, c.want)
			}
			text := v.Refusal.Text
			for _, warning := range v.Warnings {
				text += warning.Text
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("%s: %q does not say %q", c.reason, text, c.text)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	in := deliverable()
	b.ReportAllocs()
	for b.Loop() {
		if v := Decide(in); !v.Deliver {
			b.Fatal(v)
		}
	}
}
