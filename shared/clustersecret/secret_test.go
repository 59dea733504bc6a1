// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package clustersecret

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestSecretFor_makesLegalNames(t *testing.T) {
	for _, name := range []string{"c", strings.Repeat("c", 63), strings.Repeat("c.", 126) + "c"} {
		s := secretFor(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, "argocd", "", Desired{})
		if errs := validation.IsDNS1123Subdomain(s.Name); len(errs) > 0 {
			t.Errorf("Secret of a name of %d characters: %v", len(name), errs)
		}
		if errs := validation.IsValidLabelValue(s.Labels[contract.RegisteredNameLabel]); len(errs) > 0 {
			t.Errorf("label of a name of %d characters: %v", len(name), errs)
		}
	}
}

func TestTransform_keepsNoSecrets(t *testing.T) {
	in := &corev1.Secret{Data: map[string][]byte{"name": []byte("c"), "server": []byte("s"), "config": []byte("token")}}
	out, err := Transform(in)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := out.(*corev1.Secret)
	if !ok {
		t.Fatalf("%T", out)
	}
	if config, exists := s.Data["config"]; !exists || !bytes.Equal(config, digest([]byte("token"))) || string(s.Data["name"]) != "c" {
		t.Errorf("data is %q", s.Data)
	}
	if _, err := Transform(s); err != nil || !bytes.Equal(s.Data["config"], digest([]byte("token"))) {
		t.Errorf("trimmed again it is %q, %v", s.Data, err) // as a cache does with its initial list
	}
	if _, err := Transform("a tombstone"); err != nil {
		t.Error(err)
	}
}

func BenchmarkRepairPatch_unchanged(b *testing.B) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Labels: map[string]string{"a": "1", "b": "2"}}}
	is := secretFor(cluster, "argocd", "", Desired{})
	b.ReportAllocs()
	for b.Loop() {
		if patch, err := repairPatch(is, secretFor(cluster, "argocd", "", Desired{}), cluster.Labels); err != nil || patch != nil {
			b.Fatal(err, string(patch))
		}
	}
}

// repairPatch adds, changes and removes labels of an existing Secret.
func TestRepairPatch_correctsLabels(t *testing.T) {
	const earlier = "earlier" // a Secret without a list of copied labels
	cases := map[string]struct {
		reason              string
		cluster, is, change map[string]any
		copied              string
	}{
		"lost":         {reason: "a copied label goes with the cluster's", is: map[string]any{"a": "1", "b": "2"}, cluster: map[string]any{"a": "1"}, copied: "a,b", change: map[string]any{"b": nil}},
		"others":       {reason: "a label of others stays", is: map[string]any{"a": "1", "b": "2"}, cluster: map[string]any{"a": "1"}, copied: "a"},
		"othersArgo":   {reason: "also one that the cluster has as well", is: map[string]any{"argocd.argoproj.io/x": "1"}, cluster: map[string]any{"argocd.argoproj.io/x": "1"}},
		"overwritten":  {reason: "what the cluster says wins over others", is: map[string]any{"a": "2"}, cluster: map[string]any{"a": "1"}, copied: "a", change: map[string]any{"a": "1"}},
		"earlier":      {reason: "an earlier version copied everything", is: map[string]any{"a": "1", "gone": "1", "app.kubernetes.io/instance": "x"}, cluster: map[string]any{"a": "1"}, copied: earlier, change: map[string]any{"gone": nil, "app.kubernetes.io/instance": nil}},
		"earlierArgo":  {reason: "and what the cluster says of Argo CD", is: map[string]any{"argocd.argoproj.io/x": "1"}, cluster: map[string]any{"argocd.argoproj.io/x": "1"}, copied: earlier, change: map[string]any{"argocd.argoproj.io/x": nil}},
		"earlierFacts": {reason: "but what Argo CD added is its own", is: map[string]any{"argocd.argoproj.io/x": "2", "argocd.argoproj.io/y": "1"}, cluster: map[string]any{"argocd.argoproj.io/x": "1"}, copied: earlier},
	}
	texts := func(in map[string]any) map[string]string {
		out := map[string]string{}
		for key, value := range in {
			out[key], _ = value.(string)
		}
		return out
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: texts(c.cluster)}}
			want := secretFor(cluster, "argocd", "", Desired{})
			is := want.DeepCopy()
			is.Labels = texts(c.is)
			for _, key := range []string{argocd.SecretTypeLabel, contract.RegisteredLabel, contract.RegisteredNameLabel} {
				is.Labels[key] = want.Labels[key]
			}
			is.Annotations[contract.CopiedLabelsAnnotation] = c.copied
			if c.copied == earlier {
				delete(is.Annotations, contract.CopiedLabelsAnnotation)
			}
			raw, err := repairPatch(is, want, cluster.Labels)
			if err != nil {
				t.Fatal(err)
			}
			var patch struct {
				Metadata struct{ Labels map[string]any }
			}
			if raw != nil {
				if err := json.Unmarshal(raw, &patch); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.change, patch.Metadata.Labels); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// The labels and annotations of an agent are corrected only in the Secret of an agent. On another Secret, a
// user who runs argocd-agent without gitopscluster has set them.
func TestRepairPatch_keepsMarksOfAnAgentThatOthersSet(t *testing.T) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	want := secretFor(cluster, "argocd", "", Desired{})
	marked := want.DeepCopy()
	marked.Labels[argocd.AgentNameLabel] = "c"
	marked.Annotations[argocd.SkipReconcileAnnotation] = "true"
	if patch, err := repairPatch(marked, want, nil); err != nil || patch != nil {
		t.Errorf("a user's marks are patched: %s, %v", patch, err)
	}
	of := secretFor(cluster, "argocd", "", Desired{Agent: &Agent{Server: "https://proxy", Config: []byte("{}")}})
	patch, err := repairPatch(of, want, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{argocd.AgentNameLabel, argocd.SkipReconcileAnnotation, contract.ConfigDigestAnnotation} {
		if !strings.Contains(string(patch), `"`+key+`":null`) {
			t.Errorf("%s stays when the agent has gone: %s", key, patch)
		}
	}
}
