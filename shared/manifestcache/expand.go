// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/hex"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// ManifestWork returns all that is kept of the work but its [SpecFacts], as a ManifestWork.
// The caller may keep and change it, but for the labels, which are shared.
func (w *Work) ManifestWork() *workv1.ManifestWork {
	full := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.Namespace, Name: w.Name, UID: w.GetUID(), ResourceVersion: w.GetResourceVersion(), Generation: w.Generation,
		CreationTimestamp: w.GetCreationTimestamp(), DeletionTimestamp: w.GetDeletionTimestamp(),
		Labels: w.labels, Annotations: w.GetAnnotations(),
	}}
	if c := w.condition(workApplied); c != nil {
		c.ObservedGeneration = w.appliedAt
		full.Status.Conditions = []metav1.Condition{*c}
	}
	full.Status.ResourceStatus.Manifests = w.manifests()
	return full
}

// manifests returns the Application's status between those of the failed manifests.
func (w *Work) manifests() []workv1.ManifestCondition {
	var list []workv1.ManifestCondition
	if w.has.has(hasApplication) {
		list = []workv1.ManifestCondition{w.application()}
	}
	if w.rare == nil || len(w.rare.failures) == 0 {
		return list
	}
	return slices.Insert(slices.Clone(w.rare.failures), w.rare.before, list...)
}

func (w *Work) application() workv1.ManifestCondition {
	m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{
		Group: argocd.Group, Resource: argocd.ApplicationPlural, Kind: argocd.ApplicationKind, Namespace: w.AppNamespace, Name: w.HubName,
	}}
	if w.rare != nil && w.rare.resource != nil {
		m.ResourceMeta = *w.rare.resource
	}
	for of := manifestApplied; of < conditionTypes; of++ {
		if c := w.condition(of); c != nil {
			if w.has.has(hasHeard) {
				c.LastTransitionTime = unix(w.heard)
			}
			m.Conditions = append(m.Conditions, *c)
		}
	}
	m.StatusFeedbacks.Values = w.values()
	return m
}

func (w *Work) condition(of int) *metav1.Condition {
	status := w.conditions.status(of)
	if status == conditionAbsent {
		return nil
	}
	c := &metav1.Condition{Type: conditionNames[of], Status: statusNames[status]}
	if w.rare != nil {
		for i := range w.rare.reasons {
			if r := &w.rare.reasons[i]; r.of == of {
				c.ObservedGeneration, c.Reason, c.Message = r.generation, r.reason, r.message
			}
		}
	}
	return c
}

func (w *Work) values() []workv1.FeedbackValue {
	var list []workv1.FeedbackValue
	add := func(name, text string) {
		list = append(list, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &text}})
	}
	for _, name := range []string{contract.FeedbackHealthStatus, contract.FeedbackSyncStatus, contract.FeedbackOperationPhase} {
		if code := *w.code(name); code > 0 {
			add(name, codes[name][code-1])
		}
	}
	for _, name := range []string{contract.FeedbackOperationStartedAt, contract.FeedbackOperationFinishedAt, contract.FeedbackReconciledAt} {
		if at := *w.time(name); at != 0 {
			add(name, secondsText(at))
		}
	}
	if w.has.has(hasRevision) {
		add(contract.FeedbackSyncRevision, hex.EncodeToString(w.revision[:]))
	}
	if w.has.has(hasOperationMessage) {
		add(contract.FeedbackOperationMessage, w.operationMessage)
	}
	if w.rare != nil {
		for _, v := range w.rare.values {
			add(v.name, v.text)
		}
	}
	return list
}

// Spec returns what is kept of the spec, but for the Application: see [Work.Delivers].
func (w *Work) Spec() SpecFacts {
	facts := SpecFacts{Polls: w.has.has(polls)}
	if w.has.has(hasSpecHash) {
		facts.Hash = hex.EncodeToString(w.specHash[:])
	}
	if w.rare != nil {
		facts.Hash += w.rare.specHash // one of them is empty
		facts.BaseHash = w.rare.baseHash
	}
	return facts
}

// HasLabels reports whether the work on the API server has labels, be they of others than
// the pull model.
func (w *Work) HasLabels() bool { return len(w.labels) > 0 || w.has.has(hasOtherLabels) }

// HasAnnotations is [Work.HasLabels] for annotations.
func (w *Work) HasAnnotations() bool {
	return len(w.GetAnnotations()) > 0 || w.has.has(hasOtherAnnotations)
}

// GetUID implements [metav1.Object].
func (w *Work) GetUID() types.UID {
	switch {
	case w.has.has(hasUID):
		return types.UID(uuidText(w.uid))
	case w.rare != nil:
		return w.rare.uid
	}
	return ""
}

// GetAnnotations returns a map of the caller's own with the annotations of the pull model.
func (w *Work) GetAnnotations() map[string]string {
	if w.HubName == "" && w.HubNamespace == "" && w.Request() == "" && !w.has.has(hasApplicationSpec) && len(w.annotations) == 0 {
		return nil
	}
	all := make(map[string]string, len(w.annotations)+4)
	maps.Copy(all, w.annotations)
	if w.HubNamespace != "" {
		all[contract.HubNamespaceAnnotation] = w.HubNamespace
	}
	if request := w.Request(); request != "" {
		all[contract.RequestAnnotation] = request
	}
	if w.has.has(hasApplicationSpec) {
		all[contract.ApplicationSpecAnnotation] = hex.EncodeToString(w.applicationSpec[:])
	}
	if w.HubName != "" {
		all[contract.HubNameAnnotation] = w.HubName
	}
	return all
}

// Cached is a work as the packages that decide about it read it.
type Cached struct {
	// ManifestWork is without its spec.
	workv1.ManifestWork
	// Kept is what it was made of, which knows about the spec.
	Kept *Work
}

// Cached returns all that is kept of the work.
func (w *Work) Cached() *Cached { return &Cached{ManifestWork: *w.ManifestWork(), Kept: w} }
