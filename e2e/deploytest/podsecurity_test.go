// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The pods of every variant are admitted to a namespace that enforces the
// restricted standard, and the same admission refuses a pod without one of its
// restrictions: the proof that it was asked.
func TestRestrictedPodSecurity(t *testing.T) {
	const ns = "restricted"
	kubectl(t, "create", "namespace", ns)
	kubectl(t, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, "-n", ns, "create", "serviceaccount", "multicluster-integrations")
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			template, _, err := unstructured.NestedMap(find(t, kustomize(t, v.overlay), "Deployment").Object, "spec", "template")
			if err != nil {
				t.Fatal(err)
			}
			pod := &unstructured.Unstructured{Object: template}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetName(v.overlay)
			pod.SetNamespace(ns)
			kubectl(t, "create", "--dry-run=server", "--validate=strict", "-f", writeJSON(t, pod))

			unstructured.RemoveNestedField(pod.Object, "spec", "securityContext", "runAsNonRoot")
			_, stderr, err := try(t, tool("kubectl"), "--kubeconfig", kubeconfig, "create", "--dry-run=server", "-f", writeJSON(t, pod))
			if err == nil || !strings.Contains(stderr, "violates PodSecurity") {
				t.Errorf("a pod that may run as root was admitted: %v %s", err, stderr)
			}
		})
	}
}

func writeJSON(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	content, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "object.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
