// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

func TestGlobalProjects(t *testing.T) {
	const byLabel = "- projectName: base\n  labelSelector:\n    matchLabels: {tier: shop}\n- projectName: windows\n  labelSelector:\n    matchExpressions:\n    - {key: tier, operator: In, values: [shop, office]}\n"
	for name, test := range map[string]struct {
		reason, setting, project string
		labels                   map[string]string
		want                     []string
		invalid                  bool
	}{
		"none":            {reason: "no project is global", project: "team"},
		"matches":         {reason: "labels and expressions select", setting: byLabel, project: "team", labels: map[string]string{"tier": "shop"}, want: []string{"base", "windows"}},
		"expression only": {reason: "each entry selects by itself", setting: byLabel, project: "team", labels: map[string]string{"tier": "office"}, want: []string{"windows"}},
		"other label":     {reason: "nothing selects it", setting: byLabel, project: "team", labels: map[string]string{"tier": "bank"}},
		"itself":          {reason: "a project does not inherit from itself", setting: byLabel, project: "base", labels: map[string]string{"tier": "shop"}, want: []string{"windows"}},
		"no selector":     {reason: "an empty selector selects all", setting: "- projectName: base\n", project: "team", want: []string{"base"}},
		"no YAML":         {reason: "restrictions must not be lost", setting: "{", project: "team", invalid: true},
		"bad selector":    {reason: "nor by a typo", setting: "- projectName: base\n  labelSelector: {matchExpressions: [{key: tier, operator: Like}]}\n", project: "team", invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := GlobalProjects(test.setting, &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: test.project, Labels: test.labels}})
			var invalid *SettingError
			if errors.As(err, &invalid) != test.invalid || !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, %v; want %v", test.reason, got, err, test.want)
			}
		})
	}
	if !IsGlobalProject(byLabel, "windows") || IsGlobalProject(byLabel, "team") || IsGlobalProject("", "team") || !IsGlobalProject("{", "team") {
		t.Error("global are the projects that the setting names; all while it is invalid")
	}
}
