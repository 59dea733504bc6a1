// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/cmpserver/plugin"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const deployed = "../../../deploy/rendered/"

// manifestStatus returns the agent's status of one manifest.
func manifestStatus(kind, namespace, name string, conditions ...string) string {
	return fmt.Sprintf(`{"resourceMeta":{"kind":%q,"namespace":%q,"name":%q},"conditions":[%s]}`, kind, namespace, name, strings.Join(conditions, ","))
}

// said returns a condition. Its default generation is the generation of the ManifestWork.
func said(conditionType, status, message string, generation ...int) string {
	observed := 3
	if len(generation) > 0 {
		observed = generation[0]
	}
	return fmt.Sprintf(`{"type":%q,"status":%q,"message":%q,"observedGeneration":%d}`, conditionType, status, message, observed)
}

func TestHealthCheck_reportsEachStateOfAManifestWork(t *testing.T) {
	script, err := os.ReadFile(deployed + "health.lua")
	if err != nil {
		t.Fatal(err)
	}
	applied, available := said("Applied", "True", "ok"), said("Available", "True", "ok", 0)
	config := manifestStatus("ConfigMap", "a", "c", applied, available)
	healthy := manifestStatus("Deployment", "a", "ui", applied, available, said("Healthy", "True", ""), said("Progressing", "False", ""))
	rolling := manifestStatus("Deployment", "a", "ui", applied, available, said("Healthy", "False", "1 of 3 replicas available"), said("Progressing", "True", ""))
	broken := manifestStatus("Deployment", "a", "db", applied, available, said("Healthy", "False", "exceeded quota"), said("Progressing", "False", ""))
	refused := manifestStatus("ClusterRole", "", "r", said("Applied", "False", "forbidden"), said("Available", "False", ""))
	missing := manifestStatus("ConfigMap", "a", "m", applied, said("Available", "False", "", 0))
	old := manifestStatus("Deployment", "a", "ui", applied, available, said("Healthy", "False", "exceeded quota", 2), said("Progressing", "False", "", 2))
	fresh := manifestStatus("Job", "a", "j", applied)
	long := manifestStatus("ConfigMap", "a", "c", said("Applied", "False", strings.Repeat("x", 1024)))
	many := make([]string, 7)
	for i := range many {
		many[i] = manifestStatus("Pod", "a", fmt.Sprint("p", i), applied, available, said("Healthy", "False", "phase Failed"), said("Progressing", "False", ""))
	}

	cases := map[string]struct {
		reason, metadata string
		work             string // the work's Applied condition
		manifests        []string
		want             string
	}{
		"new":        {reason: "the agent has not seen it", want: "Progressing: cluster1 has not applied this yet"},
		"changed":    {reason: "the agent has not seen the change", work: said("Applied", "True", "", 2), manifests: []string{healthy}, want: "Progressing: cluster1 has not applied this yet"},
		"healthy":    {reason: "everything is there", work: applied, manifests: []string{config, healthy}, want: "Healthy: 2 of 2 resources"},
		"rolling":    {reason: "one is on its way", work: applied, manifests: []string{config, rolling}, want: "Progressing: Deployment a/ui: 1 of 3 replicas available"},
		"broken":     {reason: "a failure counts more than a rollout", work: applied, manifests: []string{rolling, broken}, want: "Degraded: Deployment a/db: exceeded quota"},
		"refused":    {reason: "the agent's words, without a namespace", work: said("Applied", "False", "failed to apply"), manifests: []string{config, refused}, want: "Degraded: ClusterRole r: forbidden"},
		"notApplied": {reason: "the work as a whole", work: said("Applied", "False", "executor may not"), want: "Degraded: executor may not"},
		"missing":    {reason: "somebody deleted it there", work: applied, manifests: []string{missing}, want: "Degraded: ConfigMap a/m is missing"},
		"old":        {reason: "a hook must not fail for what was before the change", work: applied, manifests: []string{old}, want: "Progressing: Deployment a/ui: not evaluated yet"},
		"fresh":      {reason: "a wave must not end before anybody looked", work: applied, manifests: []string{fresh}, want: "Progressing: Job a/j: not evaluated yet"},
		"many": {
			reason: "the message stays short", work: applied, manifests: many,
			want: "Degraded: Pod a/p0: phase Failed; Pod a/p1: phase Failed; Pod a/p2: phase Failed; Pod a/p3: phase Failed; Pod a/p4: phase Failed; and 2 more",
		},
		"long":     {reason: "a cluster writes it, and it is stored with each Application", work: applied, manifests: []string{long}, want: "Degraded: a text of 1039 bytes, see the status of the ManifestWork"},
		"longWork": {reason: "the same for the work as a whole", work: said("Applied", "False", strings.Repeat("x", 1025)), want: "Degraded: a text of 1025 bytes, see the status of the ManifestWork"},
		"unreachable": {
			reason: "what was known is old, and never green", work: applied, manifests: []string{healthy},
			metadata: `,"annotations":{"apps.open-cluster-management.io/cluster-unreachable":"2026-11-21T10:00:00Z"}`,
			want:     "Unknown: cluster1 not heard of since 2026-11-21T10:00:00Z; it was: Healthy, 1 of 1 resources",
		},
		"hookUnreachable": {
			reason: "a hook that is Unknown fails the sync for good", work: applied, manifests: []string{broken},
			metadata: `,"annotations":{"apps.open-cluster-management.io/cluster-unreachable":"2026-11-21T10:00:00Z","argocd.argoproj.io/hook":"PreSync"}`,
			want:     "Progressing: cluster1 not heard of since 2026-11-21T10:00:00Z; it was: Degraded, Deployment a/db: exceeded quota",
		},
		"deleted": {
			reason: "the agent is at it", work: applied, manifests: []string{healthy, config}, metadata: `,"deletionTimestamp":"2026-11-21T10:00:00Z"`,
			want: "Progressing: cluster1 is removing 2 resources",
		},
		"deletedUnreachable": {
			reason: "why it takes so long", work: applied, manifests: []string{healthy},
			metadata: `,"deletionTimestamp":"2026-11-21T11:00:00Z","annotations":{"apps.open-cluster-management.io/cluster-unreachable":"2026-11-21T10:00:00Z"}`,
			want:     "Progressing: cluster1 is removing 1 resources, but is not heard of since 2026-11-21T10:00:00Z",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			text := fmt.Sprintf(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"w","namespace":"cluster1","generation":3%s},
				"status":{"conditions":[%s],"resourceStatus":{"manifests":[%s]}}}`, c.metadata, c.work, strings.Join(c.manifests, ","))
			if err := object.UnmarshalJSON([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if name == "new" {
				delete(object.Object, "status")
			}
			checks := lua.ResourceHealthOverrides{"work.open-cluster-management.io/ManifestWork": v1alpha1.ResourceOverride{HealthLua: string(script)}}
			got, err := checks.GetResourceHealth(object)
			if err != nil {
				t.Fatalf("%s: Argo CD cannot run it: %v", c.reason, err)
			}
			if text := fmt.Sprintf("%s: %s", got.Status, got.Message); text != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, text, c.want)
			}
		})
	}
}

// Argo CD can read the plugin's configuration, and the plugin's name is "ocm".
func TestPluginConfiguration_isReadByArgoCD(t *testing.T) {
	t.Setenv("ARGOCD_PLUGINSOCKFILEPATH", "/sockets")
	config, err := plugin.ReadPluginConfig(deployed + "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if config.Address() != "/sockets/ocm.sock" {
		t.Errorf("the socket is %s", config.Address())
	}
	if len(config.Spec.Generate.Command) < 2 || config.Spec.Generate.Command[1] != "generate" {
		t.Errorf("the command is %q", config.Spec.Generate.Command)
	}
	if config.Spec.Discover.IsDefined() || config.Spec.ProvideGitCreds {
		t.Error("Applications name the plugin, and it gets no credentials")
	}
}
