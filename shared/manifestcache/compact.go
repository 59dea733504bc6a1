// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"slices"
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Transform returns the transform of an informer of ManifestWorks. It replaces each of them by a
// [Work], and returns anything else unchanged, for example a Work. stored may be nil. count gets
// the values that were cut or left out.
func Transform(stored func(*workv1.ManifestWork) Stored, count func(*contract.Rejected)) func(any) (any, error) {
	return func(object any) (any, error) {
		full, ok := object.(*workv1.ManifestWork)
		if !ok {
			return object, nil
		}
		var s *Stored
		if stored != nil {
			compared := stored(full)
			s = &compared
		}
		w, rejected := Compact(full, s)
		count(&rejected)
		return w, nil
	}
}

// These are shared by the works without anything special.
var (
	noStored = &Stored{}
	noExtra  = &Extra{}
)

// Compact returns the [Work] that is kept of a ManifestWork, and trims the status of full. stored
// has the fields that the writer of the work compares, or is nil.
func Compact(full *workv1.ManifestWork, stored *Stored) (*Work, contract.Rejected) {
	rejected := status.Trim(&full.Status)
	w := &Work{Facts: status.Read(full), Stored: noStored, Extra: noExtra}
	w.ObjectMeta = metav1.ObjectMeta{
		Namespace: Intern(full.Namespace), Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
		Generation: full.Generation, CreationTimestamp: full.CreationTimestamp, DeletionTimestamp: full.DeletionTimestamp,
	}
	if stored != nil {
		w.Stored = stored
		stored.Project, stored.ProjectHash = Intern(contract.Name(stored.Project, &rejected)), Intern(stored.ProjectHash)
	}
	var extra Extra
	keepMetadata(w, full, &extra, &rejected)
	if m := applicationIn(full); m != nil {
		keepApplication(w, m, &extra)
	}
	if extra.Request != "" || extra.Refusal != nil || extra.Missing || extra.Values != nil {
		w.Extra = &extra
	}
	return w, rejected
}

// keepMetadata keeps labels and annotations. Annotations that differ for every work become fields. An
// agent may add members of any size, so members that are read come first. Labels have at most 63
// bytes.
func keepMetadata(w *Work, full *workv1.ManifestWork, extra *Extra, rejected *contract.Rejected) {
	room := maxMetadata
	labels := own(nil, full.Labels, contract.WorkKeys, &room, rejected)
	annotations := own(nil, full.Annotations, contract.WorkKeys, &room, rejected)
	annotations = own(annotations, full.Annotations, pullKeys(full.Annotations), &room, rejected)
	labels = own(labels, full.Labels, pullKeys(full.Labels), &room, rejected)
	take := func(key string) string {
		value := annotations[key]
		delete(annotations, key)
		return value
	}
	if name := annotations[contract.HubNameAnnotation]; contract.Name(name, rejected) == name {
		w.HubName = within(w.Name, take(contract.HubNameAnnotation))
	}
	if namespace := annotations[contract.HubNamespaceAnnotation]; contract.Name(namespace, rejected) == namespace {
		w.HubNamespace = Intern(take(contract.HubNamespaceAnnotation))
	}
	extra.Request = take(contract.RequestAnnotation)
	if spec := take(contract.ApplicationSpecAnnotation); w.Stored != noStored {
		w.Stored.ApplicationSpec = spec
	}
	setIn(annotations[contract.HostingAnnotation], rejected)
	w.Labels, w.Annotations = shareMap(labels), shareMap(annotations)
	if app, named := w.Claimant(); named && w.Stored.Delivers != nil && *w.Stored.Delivers == app {
		w.Stored.Delivers = nil
	}
}

// applicationIn returns the Application in the status of a trimmed work. The first one counts.
func applicationIn(trimmed *workv1.ManifestWork) *workv1.ManifestCondition {
	manifests := trimmed.Status.ResourceStatus.Manifests
	i := slices.IndexFunc(manifests, func(m workv1.ManifestCondition) bool {
		return m.ResourceMeta.Group == argocd.Group && m.ResourceMeta.Resource == argocd.ApplicationPlural
	})
	if i < 0 {
		return nil
	}
	return &manifests[i]
}

// keepApplication keeps the parts of the agent's report about the Application that are not facts.
func keepApplication(w *Work, m *workv1.ManifestCondition, extra *Extra) {
	if m.ResourceMeta.Name == w.HubName {
		w.AppNamespace = Intern(m.ResourceMeta.Namespace)
	}
	if c := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied); c != nil && c.Status == metav1.ConditionFalse {
		extra.Refusal = &Refusal{Message: Intern(c.Message), Generation: c.ObservedGeneration}
	}
	extra.Missing = meta.IsStatusConditionFalse(m.Conditions, workv1.ManifestAvailable)
	for i := range m.StatusFeedbacks.Values {
		v := &m.StatusFeedbacks.Values[i]
		if v.Value.String == nil || contract.IsStatusFeedback(v.Name) {
			continue
		}
		text := *v.Value.String
		switch {
		case v.Name != contract.FeedbackRequest: // every request differs
			text = Intern(text)
		case text == extra.Request:
			text = extra.Request
		}
		extra.Values = append(extra.Values, Value{v.Name, text})
	}
}

// Intern returns one shared string for all equal strings. It shares no memory with s, and is freed
// when it is no longer referenced.
func Intern(s string) string { return unique.Make(s).Value() }

// within returns s as a part of whole if whole begins with it, as a work's name begins with its
// Application's. Otherwise it returns a copy.
func within(whole, s string) string {
	if strings.HasPrefix(whole, s) {
		return whole[:len(s)]
	}
	return strings.Clone(s)
}
