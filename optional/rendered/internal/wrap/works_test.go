// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// name returns the ManifestWork's name for an Application and a suffix.
var name = contract.RenderedWorkName

func configMaps(t *testing.T, n, bytes int) []manifest.Manifest {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: a}, data: {x: %s}}\n---\n", i, strings.Repeat("x", bytes))
	}
	return read(t, text.String())
}

func read(t *testing.T, text string) []manifest.Manifest {
	t.Helper()
	manifests, err := manifest.Decode("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func options(change func(*Options)) Options {
	o := Options{Application: "ui", Cluster: "cluster1", Types: manifest.NewTypes(nil, nil, nil), Shards: 1, SizeLimit: 500 << 10}
	if change != nil {
		change(&o)
	}
	return o
}

// contents returns the manifests of each ManifestWork, in order.
func contents(t *testing.T, works []Work) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, w := range works {
		for _, m := range w.Spec.Workload.Manifests {
			var o struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := json.Unmarshal(m.Raw, &o); err != nil {
				t.Fatal(err)
			}
			all[w.Name] = append(all[w.Name], o.Kind+" "+o.Metadata.Name)
		}
	}
	return all
}

func TestWorks_groupByPhaseAndWave(t *testing.T) {
	const text = `
{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: check, annotations: {argocd.argoproj.io/hook: PostSync, argocd.argoproj.io/sync-wave: "2"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: test, annotations: {helm.sh/hook: test}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: early, annotations: {argocd.argoproj.io/sync-wave: "-1"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}
`
	works, err := Works(read(t, text), options(func(o *Options) { o.Application = "team_ui" }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{
		name("team_ui", ""): {"ConfigMap plain"}, name("team_ui", "-w-1"): {"ConfigMap early"},
		name("team_ui", "-presync"): {"Job migrate"}, name("team_ui", "-postsync-w2"): {"Job check"},
	}, contents(t, works)); diff != "" {
		t.Errorf("works (-want +got):\n%s", diff)
	}
	const prefix = "argocd.argoproj.io/"
	for _, w := range works {
		got := fmt.Sprintf("wave %q hook %q policy %q options %q", w.Annotations[prefix+"sync-wave"], w.Annotations[prefix+"hook"], w.Annotations[prefix+"hook-delete-policy"], w.Annotations[prefix+"sync-options"])
		want := map[string]string{
			name("team_ui", ""): `wave "" hook "" policy ""`, name("team_ui", "-w-1"): `wave "-1" hook "" policy ""`,
			name("team_ui", "-presync"): `wave "" hook "PreSync" policy "BeforeHookCreation"`, name("team_ui", "-postsync-w2"): `wave "2" hook "PostSync" policy "BeforeHookCreation"`,
		}[w.Name] + ` options "ServerSideApply=true"`
		if got != want {
			t.Errorf("%s: %s, want %s", w.Name, got, want)
		}
		if w.Labels["apps.open-cluster-management.io/rendered"] != "true" || w.Namespace != "cluster1" {
			t.Errorf("%s: namespace %s, labels %v", w.Name, w.Namespace, w.Labels)
		}
		for key := range w.Annotations {
			if strings.HasPrefix(key, "apps.open-cluster-management.io/hub-application") {
				t.Errorf("%s: %s would make propagation take the work for its own", w.Name, key)
			}
		}
	}
}

// All Applications of a cluster share its Namespace. So no wave, phase or shard of one Application has the
// name of another Application's ManifestWork.
func TestWorkNames_differBetweenApplications(t *testing.T) {
	const text = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain, namespace: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: late, namespace: a, annotations: {argocd.argoproj.io/sync-wave: "1"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: hook, namespace: a, annotations: {argocd.argoproj.io/hook: PreSync}}}
`
	owner := map[string]string{}
	for _, application := range []string{"web", "web-w1", "web-presync", "web-s0", "web-presync-s0", "team_web", "team.web", "team.web-w1"} {
		for _, shards := range []int{1, 2} {
			works, err := Works(read(t, text), options(func(o *Options) { o.Application, o.Shards = application, shards }))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range works {
				if other := owner[w.Name]; other != "" && other != application {
					t.Errorf("%s is a work of %s and of %s", w.Name, other, application)
				}
				owner[w.Name] = application
			}
		}
	}
}

// While a manifest changes its wave or becomes a hook, it is in both its old and its new ManifestWork. If
// it left the old one first, the agent would delete the object.
func TestWaves_changeWithoutAGap(t *testing.T) {
	render := func(annotations string, before parameters.WavesBefore) map[string][]string {
		t.Helper()
		text := "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: a" + annotations + "}}\n---\n" +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: a}}"
		works, err := Works(read(t, text), options(func(o *Options) { o.WavesBefore = before }))
		if err != nil {
			t.Fatal(err)
		}
		return contents(t, works)
	}
	const later, earlier, hook = `, annotations: {argocd.argoproj.io/sync-wave: "1"}`, `, annotations: {argocd.argoproj.io/sync-wave: "-1"}`, `, annotations: {argocd.argoproj.io/hook: PreSync}`
	cases := map[string]struct {
		reason, from, to string
		before           parameters.WavesBefore
	}{
		"later":   {"wave 0 is applied first, without it", "", later, parameters.WavesBefore{"StatefulSet.apps/db": 0}},
		"back":    {"what is no longer rendered is pruned first", earlier, "", parameters.WavesBefore{"StatefulSet.apps": -1}},
		"through": {"from one side to the other", earlier, later, parameters.WavesBefore{"StatefulSet.apps": -1}},
		"hook":    {"a hook is a work as well", "", hook, parameters.WavesBefore{"*": 0}},
		"named":   {"the most specific entry counts", later, "", parameters.WavesBefore{"*": 0, "StatefulSet.apps": 0, "StatefulSet.apps/db": 1}},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			during := render(c.to, c.before)
			for _, end := range []map[string][]string{render(c.from, nil), render(c.to, nil)} {
				for work, manifests := range end {
					for _, m := range manifests {
						if !slices.Contains(during[work], m) {
							t.Errorf("%s: meanwhile %s is not in %s", c.reason, m, work)
						}
					}
				}
			}
		})
	}
	if diff := cmp.Diff(render("", nil), render("", parameters.WavesBefore{"*": 0})); diff != "" {
		t.Errorf("what does not move stands once (-without +with):\n%s", diff)
	}
}

func TestInApplyOrder(t *testing.T) {
	var text strings.Builder
	for _, kind := range []string{
		"ValidatingWebhookConfiguration", "Widget", "Deployment", "CustomResourceDefinition", "ConfigMap", "Namespace", "Service", "ServiceAccount",
	} {
		fmt.Fprintf(&text, "{apiVersion: v1, kind: %s, metadata: {name: b, namespace: p}}\n---\n{apiVersion: v1, kind: %s, metadata: {name: a, namespace: p}}\n---\n", kind, kind)
	}
	works, err := Works(read(t, text.String()), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Namespace a", "Namespace b", "ServiceAccount a", "ServiceAccount b", "ConfigMap a", "ConfigMap b", "CustomResourceDefinition a", "CustomResourceDefinition b",
		"Service a", "Service b", "Deployment a", "Deployment b", "Widget a", "Widget b", "ValidatingWebhookConfiguration a", "ValidatingWebhookConfiguration b",
	}
	if diff := cmp.Diff(want, contents(t, works)["ui"]); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestCreatedNamespace(t *testing.T) {
	hook := "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: a, annotations: {argocd.argoproj.io/hook: PreSync}}}\n---\n"
	withNamespace := func(o *Options) { o.CreateNamespace = "a" }
	works, err := Works(append(read(t, hook), configMaps(t, 1, 0)...), options(withNamespace))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"ui": {"Namespace a", "ConfigMap c0"}, name("ui", "-presync"): {"Namespace a", "Job j"}}, contents(t, works)); diff != "" {
		t.Errorf("every work that may come first brings it (-want +got):\n%s", diff)
	}
	own := workv1.ResourceIdentifier{Resource: "namespaces", Name: "a"}
	first := works[0].Spec.ManifestConfigs[0]
	if first.ResourceIdentifier != own || first.UpdateStrategy.Type != workv1.UpdateStrategyTypeCreateOnly {
		t.Errorf("the namespace may exist already, but would be updated: %+v", first)
	}
	if rules := works[0].Spec.DeleteOption.SelectivelyOrphan.OrphaningRules; len(rules) != 1 || rules[0] != workv1.OrphaningRule(own) {
		t.Errorf("the namespace would go with the work: %+v", rules)
	}

	works, err = Works(read(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {x: z}}}"), options(withNamespace))
	if err != nil || len(works[0].Spec.Workload.Manifests) != 1 || len(works[0].Spec.ManifestConfigs) != 1 {
		t.Errorf("a namespace that the source itself has is the source's: %v %+v", err, works[0].Spec.ManifestConfigs)
	}
}

// The order of the source's manifests does not change the output.
func TestWorks_ignoreTheOrderOfInput(t *testing.T) {
	manifests := configMaps(t, 40, 0)
	o := options(func(o *Options) { o.Shards = 3 })
	first, err := Works(manifests, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(manifests)
	second, err := Works(manifests, o)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(first)
	two, _ := json.Marshal(second)
	if string(one) != string(two) {
		t.Error("the works differ")
	}
}

func TestWorkNames_differForLongNames(t *testing.T) {
	names := map[string]bool{}
	for _, last := range []string{"a", "b"} {
		works, err := Works(configMaps(t, 20, 0), options(func(o *Options) { o.Application, o.Shards = strings.Repeat("x", 200)+last, 4 }))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range works {
			if names[w.Name] || len(w.Name) > 180 {
				t.Errorf("name %s is taken or too long", w.Name)
			}
			names[w.Name] = true
		}
	}
	if len(names) != 8 {
		t.Errorf("names: %v", slices.Collect(maps.Keys(names)))
	}
}
