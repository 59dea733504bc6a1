// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A tenant writes the owner references of its Application. A name that no ApplicationSet can have would be
// another path of the API, or several parts of a stored key.
func TestOwningApplicationSet_ignoresInvalidNames(t *testing.T) {
	owner := func(apiVersion, kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
	set := func(name string) metav1.OwnerReference { return owner("argoproj.io/v1alpha1", "ApplicationSet", name) }
	for reason, c := range map[string]struct {
		owners []metav1.OwnerReference
		want   string
	}{
		"no owner":                      {},
		"an ApplicationSet":             {owners: []metav1.OwnerReference{set("team.guestbook-1")}, want: "team.guestbook-1"},
		"of another version":            {owners: []metav1.OwnerReference{owner("argoproj.io/v1beta1", "ApplicationSet", "guestbook")}, want: "guestbook"},
		"another kind first":            {owners: []metav1.OwnerReference{owner("argoproj.io/v1alpha1", "Application", "root"), set("guestbook")}, want: "guestbook"},
		"another group":                 {owners: []metav1.OwnerReference{owner("example.com/v1alpha1", "ApplicationSet", "guestbook")}},
		"the list of ApplicationSets":   {owners: []metav1.OwnerReference{set(".")}},
		"a list of Applications":        {owners: []metav1.OwnerReference{set("../applications")}},
		"a subresource":                 {owners: []metav1.OwnerReference{set("guestbook/status")}},
		"an encoded path":               {owners: []metav1.OwnerReference{set("guestbook%2fstatus")}},
		"upper case":                    {owners: []metav1.OwnerReference{set("Guestbook")}},
		"too long":                      {owners: []metav1.OwnerReference{set(strings.Repeat("x", 254))}},
		"an invalid name before a name": {owners: []metav1.OwnerReference{set("."), set("guestbook")}, want: "guestbook"},
	} {
		app := &Application{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.owners}}
		if got := app.OwningApplicationSet(); got != c.want {
			t.Errorf("%s: got %q, want %q", reason, got, c.want)
		}
	}
}
