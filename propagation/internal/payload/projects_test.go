// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// If an AppProject is narrowed on the hub, UpdateProject changes only that AppProject in a work. propagation uses
// that for works that are paused, refused, held or too large. The agent of the cluster has added another
// AppProject to the work, and does not receive the hub's.
func TestUpdateProject(t *testing.T) {
	const others = `{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"name":"others","namespace":"argocd"}}`
	const wide, narrow = `{"destinations":[{"namespace":"*"}]}`, `{"destinations":[{"namespace":"team"}]}`
	project := func(spec string) *argocd.AppProject {
		return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: json.RawMessage(spec)}
	}
	for name, c := range map[string]struct {
		reason string
		hub    *argocd.AppProject
		want   string // of the project in the work
	}{
		"narrowed": {reason: "the hub has another one", hub: project(narrow), want: narrow},
		"the same": {reason: "nothing is written", hub: project(wide), want: wide},
	} {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Application: hubApplication(), Project: project(wide), ProjectNamespace: "argocd", CreateNamespace: true}
			stored, err := ManifestWork(in)
			if err != nil {
				t.Fatal(err)
			}
			in.Project = project(c.want)
			want, err := ManifestWork(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, work := range []*workv1.ManifestWork{stored, want} {
				work.Spec.Workload.Manifests = append([]workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(others)}}}, work.Spec.Workload.Manifests...)
			}
			changed, err := UpdateProject(&stored.Spec, "cluster1", "", c.hub)
			if changed != (c.want == narrow) || err != nil {
				t.Errorf("%s: changed is %t, error %v", c.reason, changed, err)
			}
			if diff := cmp.Diff(want.Spec, stored.Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
