// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// If an AppProject is narrowed on the hub, UpdateProjects changes only the AppProject in a work. propagation
// uses that for works that are paused, refused, held or too large.
func TestUpdateProjects(t *testing.T) {
	const wide, narrow = `{"destinations":[{"namespace":"*"}]}`, `{"destinations":[{"namespace":"team"}]}`
	project := func(spec string) *argocd.AppProject {
		return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: json.RawMessage(spec)}
	}
	for name, c := range map[string]struct {
		reason string
		hub    *argocd.AppProject
		err    error
		want   string // of the project in the work
	}{
		"narrowed":   {reason: "the hub has another one", hub: project(narrow), want: narrow},
		"the same":   {reason: "nothing is written", hub: project(wide), want: wide},
		"gone":       {reason: "the hub has none any more: the managed cluster keeps what it has", want: wide},
		"unreadable": {reason: "what cannot be read is not gone", err: errors.New("timeout"), want: wide},
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
			changed, err := UpdateProjects(&stored.Spec, "cluster1", "", func(name string) (*argocd.AppProject, error) {
				if name != "team" {
					t.Errorf("it wants project %q", name)
				}
				return c.hub, c.err
			})
			if changed != (c.want == narrow) || !errors.Is(err, c.err) {
				t.Errorf("%s: changed is %t, error %v", c.reason, changed, err)
			}
			if diff := cmp.Diff(want.Spec, stored.Spec); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
