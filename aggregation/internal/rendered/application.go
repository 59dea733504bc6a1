// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Application has the fields that are kept of a hub Application in rendered mode.
type Application struct {
	Namespace, Name, resourceVersion string
	uid                              types.UID

	// Set is the owning ApplicationSet. It is empty if the Application has no row.
	Set types.NamespacedName
	// Cluster is the target, which the destination's namespace names.
	Cluster string

	work     string // the name of its ManifestWork, empty if it is not known
	feedback contract.Feedback
}

// GetObjectMeta implements metav1.ObjectMetaAccessor for an informer.
func (a *Application) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name, UID: a.uid, ResourceVersion: a.resourceVersion}
}

var _ metav1.ObjectMetaAccessor = &Application{}

// Compact is the transform of the Applications' cache. It replaces each of them by an
// [Application], and limits the values that tenants and Argo CD wrote. It returns anything else
// unchanged.
func Compact(object any) (any, error) {
	full, ok := object.(*argocd.Application)
	if !ok {
		return object, nil
	}
	var rejected contract.Rejected
	a := &Application{
		Namespace: manifestcache.Intern(full.Namespace), Name: full.Name, resourceVersion: full.ResourceVersion, uid: full.UID,
		Cluster: manifestcache.Intern(contract.Name(target(full.Spec), &rejected)),
	}
	a.feedback, a.work = read(full.Status, &rejected)
	set := contract.Name(full.OwningApplicationSet(), &rejected)
	// propagation handles an Application that asks for pull delivery, whatever other labels it has.
	if set != "" && a.Cluster != "" && !contract.IsPulled(full.Labels) {
		a.Set = types.NamespacedName{Namespace: a.Namespace, Name: manifestcache.Intern(set)}
	}
	return a, nil
}

// target returns the namespace of an Application's destination.
func target(spec json.RawMessage) string {
	var s struct {
		Destination struct{ Namespace string }
	}
	if json.Unmarshal(spec, &s) != nil {
		return "" // the API server's schema admits none like that
	}
	return s.Destination.Namespace
}

// read converts an Application's status to the report of a managed cluster about a pulled
// Application, with the same limits. It also returns the name of the ManifestWork.
func read(raw json.RawMessage, rejected *contract.Rejected) (feedback contract.Feedback, work string) {
	var s struct {
		Health struct{ Status string }
		Sync   struct {
			Status, Revision string
			Revisions        []string
		}
		OperationState struct{ Phase, StartedAt, Message string }
		Conditions     []struct{ Type, Message string }
		Resources      []contract.RenderedResource
	}
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return contract.Feedback{}, ""
	}
	var values []workv1.FeedbackValue
	add := func(name, value string) {
		if value != "" {
			values = append(values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
		}
	}
	add(contract.FeedbackHealthStatus, s.Health.Status)
	add(contract.FeedbackSyncStatus, s.Sync.Status)
	add(contract.FeedbackSyncRevision, s.Sync.Revision)
	for i, r := range s.Sync.Revisions[:min(len(s.Sync.Revisions), contract.MaxSources)] {
		add(contract.FeedbackRevisions(i), r)
	}
	add(contract.FeedbackOperationPhase, s.OperationState.Phase)
	add(contract.FeedbackOperationStartedAt, s.OperationState.StartedAt)
	add(contract.FeedbackOperationMessage, s.OperationState.Message)
	for _, c := range contract.Clip(s.Conditions, contract.MaxConditions, rejected) {
		add(contract.FeedbackCondition(c.Type), c.Message)
	}
	feedback, _ = contract.ParseFeedback(contract.BoundFeedback(values, rejected))
	return feedback, strings.Clone(contract.ListedWork(s.Resources, rejected))
}

func (a *Application) key() types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}
