// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/health"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
)

func TestConfigs(t *testing.T) {
	text := `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: ui, namespace: a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: slow, namespace: a, annotations: {apps.open-cluster-management.io/healthy-when: "object.status.x == 1"}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: a, annotations: {argocd.argoproj.io/sync-options: "Prune=false, Replace=true"}}}
`
	works, err := Works(read(t, text), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range works[0].Spec.ManifestConfigs {
		id := c.ResourceIdentifier
		strategy := "inherited"
		if c.UpdateStrategy != nil {
			strategy = string(c.UpdateStrategy.Type)
		}
		got = append(got, fmt.Sprintf("%s.%s %s/%s %s %s %d", id.Resource, id.Group, id.Namespace, id.Name, strategy, c.FeedbackScrapeType, len(c.ConditionRules)))
	}
	want := []string{
		"deployments.apps a/slow inherited Watch 2",
		"persistentvolumeclaims. */* ServerSideApply Poll 2",
		"deployments.apps */* ServerSideApply Watch 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if own := works[0].Spec.ManifestConfigs[0].ConditionRules[0]; own.Condition != health.Healthy || own.CelExpressions[0] != "object.status.x == 1" {
		t.Errorf("the manifest's own rule is %+v", own)
	}
	for _, m := range works[0].Spec.Workload.Manifests {
		if strings.Contains(string(m.Raw), "healthy-when") {
			t.Errorf("the rule travels along: %s", m.Raw)
		}
	}
	kept := workv1.OrphaningRule{Resource: "persistentvolumeclaims", Namespace: "a", Name: "data"}
	if o := works[0].Spec.DeleteOption; o.PropagationPolicy != workv1.DeletePropagationPolicyTypeSelectivelyOrphan || !slices.Equal(o.SelectivelyOrphan.OrphaningRules, []workv1.OrphaningRule{kept}) {
		t.Errorf("what is not to be pruned would be deleted: %+v", o)
	}
}

func TestWorks_useTheExecutor(t *testing.T) {
	account := &workv1.ManifestWorkSubjectServiceAccount{Namespace: "a", Name: "b"}
	works, err := Works(configMaps(t, 1, 0), options(func(o *Options) { o.Executor = account }))
	if err != nil || works[0].Spec.Executor == nil || works[0].Spec.Executor.Subject.ServiceAccount != account {
		t.Errorf("the executor is %+v: %v", works[0].Spec.Executor, err)
	}
}

// A rule to orphan an object names its resource. If the plugin guessed a wrong resource, the agent would
// delete the object. So an unknown resource is an error.
func TestWorks_keepOnlyKnownResources(t *testing.T) {
	const kept = "{apiVersion: %s, kind: %s, metadata: {name: a, namespace: b, annotations: {argocd.argoproj.io/sync-options: Prune=false}}}"
	cases := map[string]struct {
		reason, apiVersion, kind string
		plurals                  map[string]string
		err                      string
	}{
		"built-in": {"Kubernetes' own are known", "v1", "PersistentVolumeClaim", nil, ""},
		"guessed":  {"gateways would become gatewaies", "gateway.networking.k8s.io/v1", "Gateway", nil, `Gateway b/a is to be kept: set its resource in parameter plurals, such as "Gateway.gateway.networking.k8s.io": "gateways"`},
		"named":    {"a parameter names it", "gateway.networking.k8s.io/v1", "Gateway", map[string]string{"Gateway.gateway.networking.k8s.io": "gateways"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Works(read(t, fmt.Sprintf(kept, c.apiVersion, c.kind)), options(func(o *Options) { o.Types = manifest.NewTypes(nil, c.plurals, nil) }))
			if got := fmt.Sprint(err); c.err == "" && err != nil || c.err != "" && got != c.err {
				t.Errorf("%s: error %s, want %s", c.reason, got, c.err)
			}
		})
	}
}

// A new wave or hook moves a manifest to another ManifestWork, and the old one is deleted. Objects that
// cannot be restored must stay on the cluster: volumes, namespaces and CustomResourceDefinitions.
func TestWorks_keepObjectsWithData(t *testing.T) {
	const manifest = "{apiVersion: %s, kind: %s, metadata: {name: a%s}}"
	const said = `, annotations: {argocd.argoproj.io/sync-options: "%s"}`
	for name, c := range map[string]struct {
		version, kind, options string
		kept                   bool
	}{
		"claim":                      {"v1", "PersistentVolumeClaim", "", true},
		"volume":                     {"v1", "PersistentVolume", "", true},
		"namespace":                  {"v1", "Namespace", "", true},
		"definition":                 {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", true},
		"with another option":        {"v1", "PersistentVolumeClaim", "Replace=true", true},
		"the user says so":           {"v1", "PersistentVolumeClaim", "Prune=true", false},
		"the user says both":         {"v1", "PersistentVolumeClaim", "Prune=true, Delete=false", true},
		"anything else":              {"v1", "ConfigMap", "", false},
		"another group of that kind": {"example.com/v1", "Namespace", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := c.options
			if annotations != "" {
				annotations = fmt.Sprintf(said, annotations)
			}
			works, err := Works(read(t, fmt.Sprintf(manifest, c.version, c.kind, annotations)), options(nil))
			if err != nil {
				t.Fatal(err)
			}
			if kept := works[0].Spec.DeleteOption.SelectivelyOrphan != nil; kept != c.kept {
				t.Errorf("it stays: %t, want %t", kept, c.kept)
			}
		})
	}
}
