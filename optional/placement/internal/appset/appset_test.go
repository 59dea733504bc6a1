// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appset

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func trimmed(t *testing.T, text string) *ApplicationSet {
	t.Helper()
	a := &ApplicationSet{}
	if err := yaml.Unmarshal([]byte(text), a); err != nil {
		t.Fatal(err)
	}
	out, err := Trim(a)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*ApplicationSet)
}

func TestSelectors(t *testing.T) {
	const byLabel = "{clusterDecisionResource: {configMapRef: ocm, labelSelector: {matchLabels: {p: one}}}}"
	one, other := labels.Set{"p": "one"}, labels.Set{"p": "other"}
	cases := map[string]struct {
		reason, generators string
		count              int
		one, other         bool // whether it selects decision "a" with these labels
	}{
		"label":       {"by its labels", byLabel, 1, true, false},
		"expression":  {"by an expression", "{clusterDecisionResource: {configMapRef: ocm, labelSelector: {matchExpressions: [{key: p, operator: NotIn, values: [one]}]}}}", 1, false, true},
		"name":        {"by its name, whatever its labels are", "{clusterDecisionResource: {configMapRef: ocm, name: a}}", 1, true, true},
		"other name":  {"another's name", "{clusterDecisionResource: {configMapRef: ocm, name: b}}", 1, false, false},
		"matrix":      {"nested in a matrix", "{matrix: {generators: [{git: {}}, " + byLabel + "]}}", 1, true, false},
		"merge":       {"nested in a merge", "{merge: {mergeKeys: [name], generators: [{clusters: {}}, " + byLabel + "]}}", 1, true, false},
		"twice":       {"a matrix in a merge", "{merge: {generators: [{matrix: {generators: [{list: {}}, " + byLabel + "]}}]}}", 1, true, false},
		"template":    {"what a matrix fills in may be anything", "{clusterDecisionResource: {configMapRef: ocm, labelSelector: {matchLabels: {p: '{{.x}}'}}}}", 1, true, true},
		"named by it": {"a name, too", "{clusterDecisionResource: {configMapRef: ocm, name: '{{.x}}'}}", 1, true, true},
		"both":        {"Argo CD refuses name and selector", "{clusterDecisionResource: {configMapRef: ocm, name: a, labelSelector: {matchLabels: {p: one}}}}", 0, false, false},
		"neither":     {"and none of them", "{clusterDecisionResource: {configMapRef: ocm}}", 0, false, false},
		"no kind":     {"without a ConfigMap there is no kind", "{clusterDecisionResource: {name: a}}", 0, false, false},
		"invalid":     {"an invalid selector selects nothing", "{clusterDecisionResource: {configMapRef: ocm, labelSelector: {matchLabels: {p: 'a b'}}}}", 0, false, false},
		"another":     {"other generators select none", "{clusters: {}}", 0, false, false},
		"malformed":   {"what is nested is not validated by the API server", "{matrix: {generators: [{matrix: 5}, {clusterDecisionResource: []}]}}, " + byLabel, 1, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set := trimmed(t, "{metadata: {name: s}, spec: {generators: ["+c.generators+"]}}")
			if len(set.Selectors) != c.count {
				t.Fatalf("%s: %d selectors", c.reason, len(set.Selectors))
			}
			for _, s := range set.Selectors {
				if s.Matches("a", one) != c.one || s.Matches("a", other) != c.other {
					t.Errorf("%s: %+v selects %t, %t", c.reason, s, s.Matches("a", one), s.Matches("a", other))
				}
			}
		})
	}
}

// Trim reads a limited number of generators, and keeps no spec.
func TestTrim_keepsLittle(t *testing.T) {
	set := trimmed(t, "{metadata: {name: s, namespace: n, resourceVersion: '7', labels: {a: b}, annotations: {x: z, "+RefreshAnnotation+": 'true'}}, spec: {generators: ["+
		strings.Repeat("{clusterDecisionResource: {configMapRef: ocm, name: a}},", most+1)+"]}}")
	if len(set.Selectors) != most || set.Spec != nil || set.Labels != nil || len(set.Annotations) != 1 || !set.Refreshing() || set.ResourceVersion != "7" {
		t.Errorf("kept %d selectors, %+v", len(set.Selectors), set.ObjectMeta)
	}
	again, err := Trim(set.DeepCopyObject())
	if err != nil || len(again.(*ApplicationSet).Selectors) != most {
		t.Errorf("one that is trimmed already lost its selectors: %v", err)
	}
	if _, err := Trim(&metav1.PartialObjectMetadata{}); err != nil {
		t.Error(err)
	}
}

func FuzzSelectors(f *testing.F) {
	f.Add([]byte(`{"generators":[{"matrix":{"generators":[{"clusterDecisionResource":{"configMapRef":"a","name":"b"}}]}}]}`))
	f.Fuzz(func(t *testing.T, spec []byte) {
		if found := selectors(json.RawMessage(spec)); len(found) > most {
			t.Errorf("%d selectors", len(found))
		}
	})
}
