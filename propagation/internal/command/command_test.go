// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

func parsed(t *testing.T, args ...string) (*Command, error) {
	t.Helper()
	c, fs := New(), flag.NewFlagSet("propagation", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.BindFlags(fs)
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	return c, c.Validate()
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"default":    {reason: "the defaults are possible"},
		"elsewhere":  {reason: "gitopscluster registers clusters", args: []string{"--register=false", "--argocd-namespace=a", "--argocd-namespace=b"}},
		"two":        {reason: "clusters are registered with one Argo CD", args: []string{"--argocd-namespace=a,b"}, want: "--register=false"},
		"label":      {reason: "a label has a key", args: []string{"--argocd-instance-label-key=a b"}, want: "--argocd-instance-label-key"},
		"namespaces": {reason: "a namespace has a name", args: []string{"--argocd-namespace=a", "--argocd-namespace=", "--register=false"}, want: "--argocd-namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(t, c.args...)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
	for want, args := range map[string][]string{"argocd": nil, "a": {"--argocd-namespace=a"}, "a b c": {"--argocd-namespace=a,b", "--argocd-namespace=c", "--argocd-namespace=a", "--register=false"}} {
		c, err := parsed(t, args...)
		if got := c.ArgoCDNamespaces(); err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, %v", args, got, err)
		}
	}
}
