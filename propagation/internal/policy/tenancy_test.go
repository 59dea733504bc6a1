// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestTenancy(t *testing.T) {
	project := func(spec string) *argocd.AppProject { return &argocd.AppProject{Spec: json.RawMessage(spec)} }
	for name, c := range map[string]struct {
		reason    string
		namespace string // of the hub Application
		target    string // its annotation
		project   *argocd.AppProject
		allow     string
		want      string
		text      []string
	}{
		"own":             {reason: "in its own namespace, and the hub has no such project: the managed cluster judges", namespace: "team", want: ReasonDelivered},
		"ownAsTarget":     {reason: "saying so is no escape", namespace: "team", target: "team", want: ReasonDelivered},
		"escape":          {reason: "into the Argo CD namespace, where no project is asked", namespace: "team", target: "argocd", want: ReasonNamespaceDenied, text: []string{contract.AppNamespaceAnnotation, `"argocd"`, "--allowed-app-namespaces", "team=argocd"}},
		"elsewhere":       {reason: "nor into another tenant's", namespace: "team", target: "other", want: ReasonNamespaceDenied},
		"administrator":   {reason: "Applications of the Argo CD namespace go where they like", namespace: "argocd", target: "other", want: ReasonDelivered},
		"adminProject":    {reason: "with any project", namespace: "argocd", project: project(`{"destinations":[{"server":"*","namespace":"*"}]}`), want: ReasonDelivered},
		"listed":          {reason: "the flag lets it", namespace: "team", target: "gitops", allow: "team=gitops", project: project(`{"sourceNamespaces":["team"]}`), want: ReasonDelivered},
		"listedGlob":      {reason: "also by a glob", namespace: "team", target: "gitops", allow: "other=x, te*=gitops", project: project(`{"sourceNamespaces":["t*"]}`), want: ReasonDelivered},
		"listedOther":     {reason: "to that namespace only", namespace: "team", target: "argocd", allow: "team=gitops", project: project(`{"sourceNamespaces":["team"]}`), want: ReasonNamespaceDenied},
		"listedHub":       {reason: "and that hub namespace only", namespace: "team", target: "gitops", allow: "tea=gitops,team-a=gitops", project: project(`{"sourceNamespaces":["team"]}`), want: ReasonNamespaceDenied},
		"listedNoProject": {reason: "without a project no rule would apply to it there", namespace: "team", target: "gitops", allow: "team=gitops", want: ReasonProjectDenied, text: []string{"no AppProject", `"default"`, "spec.sourceNamespaces"}},
		"projectDenies":   {reason: "the project is for others", namespace: "team", project: project(`{"sourceNamespaces":["argocd-admins"]}`), want: ReasonProjectDenied, text: []string{"spec.sourceNamespaces", `"default"`, `"team"`}},
		"projectSilent":   {reason: "a project that lists no namespace is for the Argo CD namespace", namespace: "team", project: project(`{}`), want: ReasonProjectDenied},
		"projectEmpty":    {reason: "nor does one without a spec", namespace: "team", project: &argocd.AppProject{}, want: ReasonProjectDenied},
		"projectBroken":   {reason: "what cannot be read allows nothing", namespace: "team", project: project(`{"sourceNamespaces":"team"}`), want: ReasonProjectDenied, text: []string{"cannot be read"}},
		"projectAllows":   {reason: "the project takes the namespace", namespace: "team", project: project(`{"sourceNamespaces":["a","team"],"destinations":[{"server":"*","namespace":"*"}]}`), want: ReasonDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			in := deliverable()
			in.ArgoCDNamespace, in.Application.Namespace, in.HubProject = "argocd", c.namespace, c.project
			if c.target != "" {
				in.Application.Annotations[contract.AppNamespaceAnnotation] = c.target
			}
			if err := in.AppNamespaces.Set(c.allow); err != nil {
				t.Fatal(err)
			}
			v := Decide(in)
			got := v.Reason()
			if got != c.want {
				t.Fatalf("%s: got %q: %s", c.reason, got, v.Refusal.Text)
			}
			for _, text := range c.text {
				if !strings.Contains(v.Refusal.Text, text) {
					t.Errorf("%q does not say %s", v.Refusal.Text, text)
				}
			}
		})
	}
}

func TestAllowedAppNamespaces(t *testing.T) {
	for value, want := range map[string]string{
		"":                      "",
		"team-a=argocd":         "team-a=argocd",
		" a=x , b-*=y,":         "a=x,b-*=y",
		"team-[ab]=argocd,?=x":  "team-[ab]=argocd,?=x",
		"team-a":                "error",
		"=argocd":               "error",
		"team-a=":               "error",
		"team-a=*":              "error",
		"team-a=Argo CD":        "error",
		"team-{a,b}=argocd":     "error",
		"/^team-.*$/=argocd":    "error",
		"a=x,team-a=kube=argoc": "error",
	} {
		var l AppNamespaces
		got := "error"
		if err := l.Set(value); err == nil {
			got = l.String()
		}
		if got != want {
			t.Errorf("%q became %q, want %q", value, got, want)
		}
	}
}
