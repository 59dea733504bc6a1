// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Transform returns the transform of an informer of ManifestWorks: it puts a [Work] in the
// place of each. Anything else, such as what it has made before, it returns as it is. spec
// may be nil, and count is told what was cut or left out.
func Transform(spec func(*workv1.ManifestWork) SpecFacts, count func(*contract.Rejected)) func(any) (any, error) {
	return func(object any) (any, error) {
		full, ok := object.(*workv1.ManifestWork)
		if !ok {
			return object, nil
		}
		var facts SpecFacts
		if spec != nil {
			facts = spec(full)
		}
		w, rejected := Compact(full, facts)
		count(&rejected)
		return w, nil
	}
}

// Compact returns what is kept of a ManifestWork, whose status it trims.
func Compact(full *workv1.ManifestWork, spec SpecFacts) (*Work, contract.Rejected) {
	rejected := status.Trim(&full.Status)
	w := &Work{Namespace: Intern(full.Namespace), Name: full.Name, Generation: full.Generation}
	w.keepMetadata(full, &rejected)
	w.keepSpec(spec)
	w.keepStatus(&full.Status)
	return w, rejected
}

// more returns the part of w that only some works have.
func (w *Work) more() *rare {
	if w.rare == nil {
		w.rare = &rare{}
	}
	return w.rare
}

func (w *Work) set(what has, is bool) {
	if is {
		w.has |= what
	}
}

func (w *Work) keepMetadata(full *workv1.ManifestWork, rejected *contract.Rejected) {
	var ok bool
	if w.resourceVersion, ok = number(full.ResourceVersion); !ok && full.ResourceVersion != "" {
		w.resourceVersion, w.more().resourceVersion = 0, full.ResourceVersion
	}
	if uuid(string(full.UID), &w.uid) {
		w.has |= hasUID
	} else if full.UID != "" {
		w.more().uid = full.UID
	}
	if !full.CreationTimestamp.IsZero() {
		w.created, w.has = uint32(full.CreationTimestamp.Unix()), w.has|hasCreated // #nosec G115 -- the hub's own clock, until 2106
	}
	if full.DeletionTimestamp != nil {
		w.more().deleted, w.has = full.DeletionTimestamp.Unix(), w.has|hasDeletion
	}
	room := maxMetadata
	annotations, others := own(full.Annotations, &room, rejected)
	w.set(hasOtherAnnotations, others)
	labels, others := own(full.Labels, &room, rejected)
	w.set(hasOtherLabels, others)
	if name := annotations[contract.HubNameAnnotation]; name != "" && contract.Name(name, rejected) == name {
		w.HubName = within(w.Name, name)
		delete(annotations, contract.HubNameAnnotation)
	}
	if namespace := annotations[contract.HubNamespaceAnnotation]; namespace != "" && contract.Name(namespace, rejected) == namespace {
		w.HubNamespace = Intern(namespace)
		delete(annotations, contract.HubNamespaceAnnotation)
	}
	if request := annotations[contract.RequestAnnotation]; request != "" {
		w.more().request = request
		delete(annotations, contract.RequestAnnotation)
	}
	if hexBytes(annotations[contract.ApplicationSpecAnnotation], w.applicationSpec[:]) {
		w.has |= hasApplicationSpec
		delete(annotations, contract.ApplicationSpecAnnotation)
	} else {
		w.applicationSpec = [8]byte{} // half of it may have been decoded
	}
	setIn(annotations[contract.HostingAnnotation], rejected)
	w.labels, w.annotations = shareMap(labels), shareMap(annotations)
}

func (w *Work) keepSpec(spec SpecFacts) {
	if hexBytes(spec.Hash, w.specHash[:]) {
		w.has |= hasSpecHash
	} else if spec.Hash != "" {
		w.more().specHash = spec.Hash
	}
	if spec.BaseHash != "" {
		w.more().baseHash = spec.BaseHash
	}
	w.set(polls, spec.Polls)
	switch app, named := w.Claimant(); {
	case !named || spec.Delivers == nil:
	case spec.Delivers.Name != app.Name:
		w.deliveredNamespace = noApplication
	case spec.Delivers.Namespace != app.Namespace:
		w.deliveredNamespace = Intern(spec.Delivers.Namespace)
	}
}

func (w *Work) keepStatus(s *workv1.ManifestWorkStatus) {
	for i := range s.Conditions {
		if s.Conditions[i].Type == workv1.WorkApplied {
			w.appliedAt = s.Conditions[i].ObservedGeneration
			w.keepCondition(workApplied, &s.Conditions[i])
		}
	}
	for i := range s.ResourceStatus.Manifests {
		m := &s.ResourceStatus.Manifests[i]
		if w.has.has(hasApplication) || m.ResourceMeta.Group != argocd.Group || m.ResourceMeta.Resource != argocd.ApplicationPlural {
			more := w.more()
			more.failures = append(more.failures, workv1.ManifestCondition{ResourceMeta: m.ResourceMeta, Conditions: slices.Clone(m.Conditions)})
			continue
		}
		w.keepApplication(m)
	}
}

func (w *Work) keepApplication(m *workv1.ManifestCondition) {
	w.has |= hasApplication
	if w.rare != nil {
		w.rare.before = len(w.rare.failures)
	}
	if m.ResourceMeta.Name == w.HubName {
		w.AppNamespace = Intern(m.ResourceMeta.Namespace)
	}
	if m.ResourceMeta.Name != w.HubName || m.ResourceMeta.Kind != argocd.ApplicationKind {
		resource := m.ResourceMeta
		w.more().resource = &resource
	}
	for i := range m.Conditions {
		c := &m.Conditions[i]
		of := slices.Index(conditionNames[manifestApplied:], c.Type) // the work's has the same name
		if of < 0 {
			continue
		}
		w.keepCondition(manifestApplied+of, c)
		if t := c.LastTransitionTime; !t.IsZero() && (!w.has.has(hasHeard) || t.Unix() > w.heard) {
			w.heard, w.has = t.Unix(), w.has|hasHeard
		}
	}
	for i := range m.StatusFeedbacks.Values {
		if v := &m.StatusFeedbacks.Values[i]; v.Value.String != nil {
			w.keepValue(v.Name, *v.Value.String)
		}
	}
}

func (w *Work) keepCondition(of int, c *metav1.Condition) {
	switch c.Status {
	case metav1.ConditionTrue:
		w.conditions.set(of, conditionTrue)
		return
	case metav1.ConditionFalse:
		w.conditions.set(of, conditionFalse)
	default:
		w.conditions.set(of, conditionUnknown)
	}
	more := w.more()
	more.reasons = append(more.reasons, reason{of, c.ObservedGeneration, Intern(c.Reason), Intern(c.Message)})
}

// keepValue keeps a feedback value where it takes the least room.
func (w *Work) keepValue(name, text string) {
	if code := w.code(name); code != nil {
		if i := slices.Index(codes[name], text); i >= 0 {
			*code = uint8(i) + 1 //nolint:gosec // there are six at most
			return
		}
	}
	if at := w.time(name); at != nil {
		if n, ok := seconds(text); ok {
			*at = n
			return
		}
	}
	switch name {
	case contract.FeedbackSyncRevision:
		if hexBytes(text, w.revision[:]) {
			w.has |= hasRevision
			return
		}
	case contract.FeedbackOperationMessage:
		w.operationMessage, w.has = Intern(text), w.has|hasOperationMessage
		return
	}
	more := w.more()
	switch {
	case name != contract.FeedbackRequest: // no two are the same
		text = Intern(text)
	case text == more.request:
		text = more.request
	}
	more.values = append(more.values, value{name, text})
}

// codes are the values that health, sync status and phase can have.
var codes = map[string][]string{
	contract.FeedbackHealthStatus: {
		argocd.HealthUnknown, argocd.HealthProgressing, argocd.HealthHealthy, argocd.HealthSuspended, argocd.HealthDegraded, argocd.HealthMissing,
	},
	contract.FeedbackSyncStatus: {argocd.SyncUnknown, argocd.SyncSynced, argocd.SyncOutOfSync},
	contract.FeedbackOperationPhase: {
		argocd.OperationRunning, argocd.OperationTerminating, argocd.OperationFailed, argocd.OperationError, argocd.OperationSucceeded,
	},
}

// code returns where a value of codes is kept: as its place there from 1, 0 for none.
func (w *Work) code(name string) *uint8 {
	switch name {
	case contract.FeedbackHealthStatus:
		return &w.health
	case contract.FeedbackSyncStatus:
		return &w.sync
	case contract.FeedbackOperationPhase:
		return &w.phase
	}
	return nil
}

// time returns where a time is kept: in seconds, 0 for none.
func (w *Work) time(name string) *int64 {
	switch name {
	case contract.FeedbackOperationStartedAt:
		return &w.startedAt
	case contract.FeedbackOperationFinishedAt:
		return &w.finishedAt
	case contract.FeedbackReconciledAt:
		return &w.reconciledAt
	}
	return nil
}

func unix(n int64) metav1.Time { return metav1.NewTime(time.Unix(n, 0)) }
