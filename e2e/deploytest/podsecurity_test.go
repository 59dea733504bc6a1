// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A namespace that enforces the restricted standard admits the pods of every variant. It rejects a pod
// without one of the restrictions, which proves that the admission is active.
func TestPodSecurity_meetsTheRestrictedStandard(t *testing.T) {
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

// OpenShift's constraint restricted-v2 assigns user, group and SELinux label from the namespace's ranges. It
// admits no pod that sets them itself, and no other kinds of volumes than these.
func TestPodSecurity_meetsTheConstraintOfOpenShift(t *testing.T) {
	volumes := []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			deployment := find(t, kustomize(t, v.overlay), "Deployment")
			pod := field(t, deployment.Object, "spec", "template", "spec").(map[string]any)
			contexts := []any{pod["securityContext"]}
			for _, c := range containers(t, deployment) {
				contexts = append(contexts, c["securityContext"])
				if dropped := field(t, c, "securityContext", "capabilities", "drop"); !cmp.Equal(dropped, []any{"ALL"}) {
					t.Errorf("%s drops %v, want ALL", c["name"], dropped)
				}
				if c["securityContext"].(map[string]any)["allowPrivilegeEscalation"] != false {
					t.Errorf("%s may gain privileges", c["name"])
				}
			}
			for _, context := range contexts {
				for _, assigned := range []string{"runAsUser", "runAsGroup", "fsGroup", "supplementalGroups", "seLinuxOptions"} {
					if value, set := context.(map[string]any)[assigned]; set {
						t.Errorf("%s is %v, and OpenShift assigns it", assigned, value)
					}
				}
			}
			if seccomp := field(t, pod, "securityContext", "seccompProfile", "type"); seccomp != "RuntimeDefault" {
				t.Errorf("seccomp profile %v", seccomp)
			}
			for _, host := range []string{"hostNetwork", "hostPID", "hostIPC", "hostUsers"} {
				if value, set := pod[host]; set {
					t.Errorf("%s is %v", host, value)
				}
			}
			for _, each := range pod["volumes"].([]any) {
				for kind := range each.(map[string]any) {
					if kind != "name" && !slices.Contains(volumes, kind) {
						t.Errorf("a volume is a %s", kind)
					}
				}
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
