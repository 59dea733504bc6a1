// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	defaults := Parameters{Tool: Auto, Shards: 1}
	cases := map[string]struct {
		reason, text string
		want         Parameters
		err          string
	}{
		"none": {reason: "an Application without parameters", want: defaults},
		"null": {reason: "the same, as Argo CD writes it", text: "null", want: defaults},
		"all": {
			reason: "every parameter there is",
			text: `[{"name":"tool","string":"helm"},{"name":"namespace","string":"guestbook"},{"name":"create-namespace","string":"true"},
				{"name":"allow-empty","string":"true"},{"name":"release","string":"ui.v1"},{"name":"values-files","array":["a.yaml","../b.yaml"]},
				{"name":"values","map":{"image.tag":"v1"}},{"name":"kube-version","string":"v1.34.0"},{"name":"api-versions","array":["apps/v1/Deployment"]},
				{"name":"shards","string":"8"},{"name":"shards-before","string":"1"},{"name":"waves-before","map":{"*":"0","StatefulSet.apps/db":"-1"}},{"name":"skip-crds","string":"true"},{"name":"plurals","map":{"Fleet.example.com":"fleet"}},
				{"name":"cluster-scoped","array":["ClusterIssuer.cert-manager.io"]}]`,
			want: Parameters{
				Tool: Helm, Namespace: "guestbook", CreateNamespace: true, AllowEmpty: true, Release: "ui.v1",
				ValuesFiles: []string{"a.yaml", "../b.yaml"}, Values: map[string]string{"image.tag": "v1"},
				KubeVersion: "v1.34.0", APIVersions: []string{"apps/v1/Deployment"}, Shards: 8, ShardsBefore: 1, WavesBefore: WavesBefore{"*": 0, "StatefulSet.apps/db": -1}, SkipCRDs: true,
				Plurals: map[string]string{"Fleet.example.com": "fleet"}, ClusterScoped: []string{"ClusterIssuer.cert-manager.io"},
			},
		},
		"notJSON":    {reason: "not from Argo CD", text: "{", err: "ARGOCD_APP_PARAMETERS: want the JSON list that Argo CD passes to a plugin"},
		"unknown":    {reason: "misspelt: it would change nothing", text: `[{"name":"toool","string":"s3cret"}]`, err: `parameter "toool": want one of allow-empty, api-versions, cluster-scoped, `},
		"twice":      {reason: "one of them would not count", text: `[{"name":"shards","string":"1"},{"name":"shards","string":"2"}]`, err: "parameter shards: want it once"},
		"tool":       {reason: "not a tool", text: `[{"name":"tool","string":"jsonnet"}]`, err: "parameter tool: want one of auto, directory, helm, kustomize, as a string"},
		"type":       {reason: "an array is not a string", text: `[{"name":"namespace","array":["a"]}]`, err: "parameter namespace: want the name of a namespace, as a string"},
		"notArray":   {reason: "a string is not an array", text: `[{"name":"values-files","string":"a"}]`, err: "parameter values-files: want an array of plain strings, none of them empty"},
		"notMap":     {reason: "nor a map", text: `[{"name":"values","string":"a"}]`, err: "parameter values: want a map of strings"},
		"notBoolean": {reason: "yes is not true", text: `[{"name":"allow-empty","string":"yes"}]`, err: `parameter allow-empty: want "true" or "false", as a string`},
		"noShards":   {reason: "nothing would be delivered", text: `[{"name":"shards","string":"0"}]`, err: "parameter shards: want a whole number from 1 to 256, as a string"},
		"noWave":     {reason: "a wave is a number", text: `[{"name":"waves-before","map":{"*":"first"}}]`, err: `parameter waves-before: want a map of whole numbers, as strings`},
		"manyShards": {reason: "bounded", text: `[{"name":"shards","string":"257"}]`, err: "parameter shards: want a whole number from 1 to 256, as a string"},
		"flag":       {reason: "helm would take it for a flag", text: `[{"name":"kube-version","string":"--post-renderer=x"}]`, err: "parameter kube-version: want a Kubernetes version, as a string"},
		"oneFlag":    {reason: "each element is looked at", text: `[{"name":"api-versions","array":["v1","--post-renderer"]}]`, err: "parameter api-versions: want an array of plain strings, none of them empty"},
		"release":    {reason: "the same", text: `[{"name":"release","string":"-x"}]`, err: "parameter release: want the name of a Helm release: at most 53 lower-case letters, digits, '-' and '.', as a string"},
		"namespace":  {reason: "create what?", text: `[{"name":"create-namespace","string":"true"}]`, err: "parameter namespace: want the namespace that create-namespace is to create"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.text)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s: error %v, want %q", c.reason, err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", c.reason, err, diff)
			}
		})
	}
}
