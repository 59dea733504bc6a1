// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
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
			testkit.CheckFlags(t, New(), c.reason, c.want, c.args...)
		})
	}
}
