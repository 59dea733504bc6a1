// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func parsed(t *testing.T, args ...string) (*Command, error) {
	t.Helper()
	c, fs := New(), flag.NewFlagSet("gitopscluster", flag.ContinueOnError)
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
		"two":        {reason: "there may be several Argo CDs", args: []string{"--register=gitopsclusters", "--removal-limit=50%", "--argocd-namespace=a", "--argocd-namespace=b"}},
		"agents":     {reason: "agents may be brought", args: []string{"--agents", "--agent-certificate-lifetime=1h"}},
		"short":      {reason: "a managed cluster renews late", args: []string{"--agent-certificate-lifetime=59m"}, want: "--agent-certificate-lifetime"},
		"ca":         {reason: "no certificate outlives its CA", args: []string{"--ca-lifetime=1h"}, want: "--ca-lifetime"},
		"register":   {reason: "there is no such scope", args: []string{"--register=some"}, want: "--register"},
		"percent":    {reason: "a share is a percentage", args: []string{"--removal-limit=20"}, want: "removal-limit"},
		"grace":      {reason: "no cluster leaves before it is out of its Placement", args: []string{"--binding-grace=-1s"}, want: "--binding-grace"},
		"label":      {reason: "a label has a key", args: []string{"--argocd-instance-label-key=a b"}, want: "--argocd-instance-label-key"},
		"namespaces": {reason: "a namespace has a name", args: []string{"--argocd-namespace=a", "--argocd-namespace="}, want: "--argocd-namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(t, c.args...)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
}

// Plan reports a bad file or command line without a request to the hub.
func TestPlan_reportsABadFile(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"empty":     {"there is nothing to plan", "", "no GitOpsCluster"},
		"kind":      {"another kind is not skipped in silence", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: a}}", "not a GitOpsCluster"},
		"unknown":   {"an unknown field is a slip", "{apiVersion: apps.open-cluster-management.io/v1beta1, kind: GitOpsCluster, metadata: {name: a, namespace: a}, spec: {placements: {}}}", "placements"},
		"nameless":  {"without a namespace nothing is known", "{apiVersion: apps.open-cluster-management.io/v1beta1, kind: GitOpsCluster, metadata: {name: a}}", "metadata.namespace"},
		"not YAML":  {"what cannot be read is no plan", "{", "read"},
		"no such":   {"nor is what is not there", "-", "no such file"},
		"arguments": {"nor a command line without a file", "+", "usage"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file.yaml")
			args := []string{"-f", file}
			switch c.text {
			case "-":
			case "+":
				args = nil
			default:
				if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out, errs bytes.Buffer
			if code := Plan(context.Background(), args, strings.NewReader(""), &out, &errs); code == 0 || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
				t.Errorf("%s: exit %d, %s%s", c.reason, code, errs.String(), out.String())
			}
		})
	}
}
