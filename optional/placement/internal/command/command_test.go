// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"io"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"default": {reason: "the default is possible"},
		"two":     {reason: "there may be several Argo CDs", args: []string{"--argocd-namespace=a,b"}},
		"empty":   {reason: "a namespace has a name", args: []string{"--argocd-namespace="}, want: "--argocd-namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			command, fs := New(), flag.NewFlagSet("placement", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			command.BindFlags(fs)
			err := fs.Parse(c.args)
			if err == nil {
				err = command.Validate()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
}
