// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The component and the chart value of placement add the same objects and change no other object.
func TestPlacement_isOffUnlessInstalled(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			plain, on := byIdentity(t, kustomize(t, v.overlay)), byIdentity(t, kustomize(t, v.overlay, "placement"))
			rendered := byIdentity(t, chart(t, append([]string{"placement.enabled=true"}, v.values...)...))
			rendered["v1 Namespace /"+namespace] = on["v1 Namespace /"+namespace]
			if diff := cmp.Diff(on, rendered); diff != "" {
				t.Errorf("the component (-) and the chart with placement.enabled (+) differ:\n%s", diff)
			}
			var changed []string
			for id := range on {
				if !cmp.Equal(plain[id], on[id]) {
					changed = append(changed, strings.Fields(id)[1])
				}
			}
			slices.Sort(changed)
			want := "ClusterRole ClusterRoleBinding Deployment NetworkPolicy Role Role RoleBinding RoleBinding Service ServiceAccount ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
			if got := strings.Join(changed, " "); got != want {
				t.Errorf("it changes %s", got)
			}
		})
	}
}

// Of the users' objects placement may write only ApplicationSets, which its policy restricts. Its pod meets
// the restricted Pod Security Standard.
func TestPlacement_writesOnlyApplicationSets(t *testing.T) {
	const name = namespace + "-placement"
	objects := kustomize(t, "ocm", "placement")
	rights := 0
	for r := range grantedRights(t, objects) {
		if r.binary != "placement" {
			continue
		}
		rights++
		reads := slices.Contains([]string{"list", "watch"}, r.verb)
		asks := r.resource == "tokenreviews" || r.resource == "subjectaccessreviews"
		if strings.Contains(r.String(), "*") || r.namespace != namespace && !reads && !asks && (r.resource != "applicationsets" || r.verb != "patch") {
			t.Errorf("too much: %s", r)
		}
	}
	if rights == 0 {
		t.Fatal("no rights found: the test proves nothing")
	}
	const ns = "restricted-placement"
	kubectl(t, "create", "namespace", ns)
	kubectl(t, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, "-n", ns, "create", "serviceaccount", name)
	asPod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": ns},
		"spec": field(t, named(t, objects, "Deployment", name).Object, "spec", "template", "spec"),
	}}
	kubectl(t, "create", "--dry-run=server", "--validate=strict", "-f", writeJSON(t, asPod))
}
