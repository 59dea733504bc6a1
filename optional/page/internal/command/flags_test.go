// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		why  string
		args []string
		want string // in the error, empty for no error
	}{
		"default":           {"a port of its own, over TLS", nil, ""},
		"no port":           {"where to listen", []string{"--page-bind-address=x"}, "--page-bind-address \"x\""},
		"off":               {"without a page there is nothing to do", []string{"--page-bind-address=0"}, "--page-bind-address \"0\""},
		"plain":             {"tokens do not cross a network in the clear", []string{"--page-secure=false"}, "--page-secure=false"},
		"plain on an IP":    {"nor on another address", []string{"--page-bind-address=10.0.0.1:8446", "--page-secure=false"}, "--page-secure=false"},
		"plain on loopback": {"for a port-forward", []string{"--page-bind-address=127.0.0.1:8446", "--page-secure=false"}, ""},
		"no certificate":    {"it may come later", []string{"--page-cert-dir=" + t.TempDir()}, ""},
		"Argo CD":           {"an https address", []string{"--argocd-url=https://argocd.example.com/"}, ""},
		"Argo CD plain":     {"no other", []string{"--argocd-url=http://argocd.example.com"}, "--argocd-url"},
		"Argo CD, a user":   {"nor one that shows a password to all", []string{"--argocd-url=https://a:b@argocd.example.com"}, "--argocd-url"},
		"Argo CD script":    {"above all no script", []string{"--argocd-url=javascript:alert(1)"}, "--argocd-url"},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.CheckFlags(t, New(), test.why, test.want, test.args...)
		})
	}
}

func TestNames(t *testing.T) {
	for name, test := range map[string]struct {
		flags Flags
		want  []string
	}{
		"address and hosts": {Flags{address: "fleet.internal:8446", hosts: "Fleet.Example.com, other.example.com"}, []string{"fleet.internal", "fleet.example.com", "other.example.com"}},
		"a bare port":       {Flags{address: ":8446"}, nil},
		"port and hosts":    {Flags{address: ":8446", hosts: "fleet.example.com"}, []string{"fleet.example.com"}},
	} {
		if got := test.flags.names(); !slices.Equal(got, test.want) {
			t.Errorf("%s: names %q", name, got)
		}
	}
}
