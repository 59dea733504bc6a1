// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestWithoutAutomation(t *testing.T) {
	const project = `{"kind":"AppProject","spec":{"syncPolicy":{"automated":{}}}}`
	for _, c := range []struct{ reason, application, want string }{
		{"automation goes, null and order in the rest stay",
			`{"apiVersion":"v1","kind":"Application","spec":{"source":{"helm":{"values":{"b":null,"a":1}}},"syncPolicy":{"automated":{"prune":true},"retry":{"limit":2}}}}`,
			`{"apiVersion":"v1","kind":"Application","spec":{"source":{"helm":{"values":{"b":null,"a":1}}},"syncPolicy":{"retry":{"limit":2}}}}`},
		{"none that could go", `{"kind":"Application","spec":{"source":{}}}`, `{"kind":"Application","spec":{"source":{}}}`},
		{"a policy that is null", `{"kind":"Application","spec":{"syncPolicy":null}}`, `{"kind":"Application","spec":{"syncPolicy":null}}`},
	} {
		spec := &workv1.ManifestWorkSpec{}
		for _, raw := range []string{project, c.application} {
			spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
		}
		mark, err := WithoutAutomation(spec)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		if got := string(spec.Workload.Manifests[1].Raw); got != c.want {
			t.Errorf("%s: got %s", c.reason, got)
		}
		if got := string(spec.Workload.Manifests[0].Raw); got != project {
			t.Errorf("%s: the project became %s", c.reason, got)
		}
		if err := WithAutomation(spec, mark); err != nil || string(spec.Workload.Manifests[1].Raw) != c.application {
			t.Errorf("%s: with mark %q it becomes %s again, %v", c.reason, mark, spec.Workload.Manifests[1].Raw, err)
		}
		if err := WithAutomation(spec, pauseMark+" {"); err != nil || string(spec.Workload.Manifests[1].Raw) != c.application {
			t.Errorf("%s: with a mark that is none it becomes %s, %v", c.reason, spec.Workload.Manifests[1].Raw, err)
		}
	}
}
