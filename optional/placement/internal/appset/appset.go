// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package appset finds out which placement decisions the generators of an ApplicationSet select, by
// the rules of generator clusterDecisionResource in Argo CD 2.14 to 3.5.
package appset

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// RefreshAnnotation makes Argo CD's ApplicationSet controller run the generators again. The
// controller only checks the key, and removes it after a successful pass.
const RefreshAnnotation = "argocd.argoproj.io/application-set-refresh"

// ApplicationSet has the fields that decide when an ApplicationSet is refreshed. After [Trim] it
// has no Spec.
type ApplicationSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec json.RawMessage `json:"spec,omitempty"`
	// Selectors are set by [Trim] and never changed.
	Selectors []Selector `json:"-"`
}

// ApplicationSetList is a list of ApplicationSets.
type ApplicationSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ApplicationSet `json:"items"`
}

// AddToScheme registers the ApplicationSet of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(argocd.GroupVersion, &ApplicationSet{}, &ApplicationSetList{})
	metav1.AddToGroupVersion(s, argocd.GroupVersion)
	return nil
}

// DeepCopyObject implements runtime.Object.
func (a *ApplicationSet) DeepCopyObject() runtime.Object { return a.deepCopy() }

func (a *ApplicationSet) deepCopy() *ApplicationSet {
	out := *a
	a.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *ApplicationSetList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]ApplicationSet, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].deepCopy()
	}
	return &out
}

// Refreshing reports whether a requested refresh is not done yet.
func (a *ApplicationSet) Refreshing() bool {
	_, refreshing := a.Annotations[RefreshAnnotation]
	return refreshing
}

// Trim keeps the fields of an ApplicationSet that this package reads. It is the transform of a
// cache.
func Trim(in any) (any, error) {
	a, ok := in.(*ApplicationSet)
	if !ok {
		return in, nil
	}
	kept := metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name, UID: a.UID, ResourceVersion: a.ResourceVersion, Generation: a.Generation}
	if value, exists := a.Annotations[RefreshAnnotation]; exists {
		kept.Annotations = map[string]string{RefreshAnnotation: value}
	}
	if len(a.Spec) > 0 {
		a.Selectors = selectors(a.Spec)
	}
	a.ObjectMeta, a.Spec = kept, nil
	return a, nil
}

// Selector is the selection of one clusterDecisionResource generator.
type Selector struct {
	// ConfigMap, in Argo CD's namespace, names the kind that is selected. If it is empty, it comes
	// from a template and may be any ConfigMap.
	ConfigMap string
	// Name is the name of a decision. If it is empty, Labels select.
	Name   string
	Labels labels.Selector
}

// Matches reports whether a decision with that name and those labels is selected.
func (s Selector) Matches(name string, of labels.Set) bool {
	if s.Name != "" {
		return s.Name == name
	}
	return s.Labels.Matches(of)
}

// most is how many generators of an ApplicationSet are read, including those within matrix and
// merge generators.
const most = 100

type generator struct {
	ClusterDecisionResource *struct {
		ConfigMapRef  string               `json:"configMapRef"`
		Name          string               `json:"name"`
		LabelSelector metav1.LabelSelector `json:"labelSelector"`
	} `json:"clusterDecisionResource"`
	Matrix, Merge json.RawMessage
}

// selectors returns no error. A value of another type than Argo CD's selects nothing in Argo CD
// either.
func selectors(spec json.RawMessage) (found []Selector) {
	left := most
	var visit func(parent json.RawMessage)
	visit = func(parent json.RawMessage) {
		var nested struct {
			Generators []json.RawMessage `json:"generators"`
		}
		if len(parent) == 0 || json.Unmarshal(parent, &nested) != nil {
			return
		}
		for _, raw := range nested.Generators {
			var g generator
			if left--; left < 0 || json.Unmarshal(raw, &g) != nil {
				continue
			}
			if d := g.ClusterDecisionResource; d != nil {
				if s, ok := selectorOf(d.ConfigMapRef, d.Name, &d.LabelSelector); ok {
					found = append(found, s)
				}
			}
			visit(g.Matrix)
			visit(g.Merge)
		}
	}
	visit(spec)
	return found
}

// selectorOf returns false if Argo CD rejects the generator. A template within a matrix is filled
// in by another generator, which only Argo CD runs. It counts as selecting everything.
func selectorOf(configMap, name string, by *metav1.LabelSelector) (Selector, bool) {
	labelled := len(by.MatchLabels) > 0 || len(by.MatchExpressions) > 0
	if configMap == "" || labelled == (name != "") {
		return Selector{}, false
	}
	s := Selector{ConfigMap: configMap}
	if isTemplate(configMap) {
		s.ConfigMap = ""
	}
	switch {
	case isTemplate(name) || hasTemplate(by):
		s.Labels = labels.Everything()
	case name != "":
		s.Name = name
	default:
		selector, err := metav1.LabelSelectorAsSelector(by)
		if err != nil {
			return Selector{}, false
		}
		s.Labels = selector
	}
	return s, true
}

func isTemplate(text string) bool { return strings.Contains(text, "{{") }

func hasTemplate(by *metav1.LabelSelector) bool {
	for key, value := range by.MatchLabels {
		if isTemplate(key) || isTemplate(value) {
			return true
		}
	}
	for _, e := range by.MatchExpressions {
		if isTemplate(e.Key) {
			return true
		}
		for _, value := range e.Values {
			if isTemplate(value) {
				return true
			}
		}
	}
	return false
}
