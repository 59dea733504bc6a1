// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	for name, test := range map[string]struct {
		why  string
		args []string
		on   bool
		want string // in the error; empty: none
	}{
		"default":           {"it is off", nil, false, ""},
		"zero":              {"as the metrics are turned off", []string{"--page-bind-address=0"}, false, ""},
		"off, wrong":        {"what is off is not looked at", []string{"--argocd-url=http://x"}, false, ""},
		"on":                {"a port is enough", []string{"--page-bind-address=:8446"}, true, ""},
		"no port":           {"where to listen", []string{"--page-bind-address=x"}, true, "--page-bind-address \"x\""},
		"plain":             {"tokens do not cross a network in the clear", []string{"--page-bind-address=:8446", "--page-secure=false"}, true, "--page-secure=false"},
		"plain on an IP":    {"nor on another address", []string{"--page-bind-address=10.0.0.1:8446", "--page-secure=false"}, true, "--page-secure=false"},
		"plain on loopback": {"for a port-forward", []string{"--page-bind-address=127.0.0.1:8446", "--page-secure=false"}, true, ""},
		"no certificate":    {"it may come later, and costs the page only", []string{"--page-bind-address=:8446", "--page-cert-dir=" + t.TempDir()}, true, ""},
		"Argo CD":           {"an https address", []string{"--page-bind-address=:8446", "--argocd-url=https://argocd.example.com/"}, true, ""},
		"Argo CD plain":     {"no other", []string{"--page-bind-address=:8446", "--argocd-url=http://argocd.example.com"}, true, "--argocd-url"},
		"Argo CD, a user":   {"nor one that shows a password to all", []string{"--page-bind-address=:8446", "--argocd-url=https://a:b@argocd.example.com"}, true, "--argocd-url"},
		"Argo CD script":    {"above all no script", []string{"--page-bind-address=:8446", "--argocd-url=javascript:alert(1)"}, true, "--argocd-url"},
	} {
		t.Run(name, func(t *testing.T) {
			var f Flags
			fs := flag.NewFlagSet("aggregation", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			f.Bind(fs)
			if err := fs.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			err := f.Validate()
			if f.On() != test.on || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: on %t, error %v, want %q", test.why, f.On(), err, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	f := Flags{address: "fleet.internal:8446", hosts: "Fleet.Example.com, other.example.com"}
	if got := f.names(); !slices.Equal(got, []string{"fleet.internal", "fleet.example.com", "other.example.com"}) {
		t.Errorf("names %q", got)
	}
}
