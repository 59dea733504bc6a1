// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

func TestAppNamespaces_refusesInvalidValues(t *testing.T) {
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
