// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// sent has the fields of an Application that are decoded.
type sent struct {
	Metadata slim.Meta `json:"metadata"`
	Status   appStatus `json:"status"`
}

type appStatus struct {
	Health struct {
		Status string `json:"status"`
	} `json:"health"`
	Sync struct {
		Status   string `json:"status"`
		Revision string `json:"revision"`
	} `json:"sync"`
	OperationState struct {
		Phase     string `json:"phase"`
		StartedAt string `json:"startedAt"`
		Message   string `json:"message"`
	} `json:"operationState"`
	Conditions []condition                 `json:"conditions"`
	Resources  []contract.RenderedResource `json:"resources"`
}

type condition struct {
	Type               string      `json:"type"`
	Message            string      `json:"message"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// appOf returns the Application for the page, with limited texts of clusters and tenants. It
// returns nil if the Application is neither pulled nor rendered.
func appOf(s *sent) *model.App {
	m := &s.Metadata.ObjectMeta
	rendered := m.Labels[contract.RenderedLabel] == "true" && !contract.IsPulled(m.Labels) // propagation reports on pulled ones
	if !rendered && !asksForDelivery(s) {
		return nil
	}
	var ignored contract.Rejected
	name := strings.Clone(m.Name)
	a := &model.App{AppFields: model.AppFields{
		Namespace: intern(m.Namespace), Name: name,
		Set:      intern(contract.Name((&argocd.Application{ObjectMeta: *m}).OwningApplicationSet(), &ignored)),
		Cluster:  intern(contract.Name(m.Annotations[contract.ClusterAnnotation], &ignored)),
		Work:     contract.WorkName(name, string(m.UID)),
		Health:   intern(model.OneOf(model.Healths, s.Status.Health.Status, argocd.HealthUnknown)),
		Sync:     intern(model.OneOf(model.Syncs, s.Status.Sync.Status, argocd.SyncUnknown)),
		Revision: intern(contract.Token(s.Status.Sync.Revision, &ignored)),
		Phase:    intern(contract.Token(s.Status.OperationState.Phase, &ignored)),
		Started:  strings.Clone(contract.Token(s.Status.OperationState.StartedAt, &ignored)),
	}}
	if rendered {
		a.Work = cmp.Or(strings.Clone(contract.ListedWork(s.Status.Resources, &ignored)), contract.RenderedWorkName(name, ""))
	}
	conditions := contract.Clip(s.Status.Conditions, contract.MaxConditions, &ignored)
	for i := range conditions {
		c := v1alpha1.Condition{Type: intern(contract.Token(conditions[i].Type, &ignored)), Message: strings.Clone(contract.Message(conditions[i].Message, &ignored))}
		a.Stale = a.Stale || c.Type == model.Unreachable
		a.Conditions = append(a.Conditions, c)
	}
	addOperation(a, contract.Message(s.Status.OperationState.Message, &ignored))
	deliver(a, m, conditions, rendered, s.Status.Health.Status == "" && s.Status.Sync.Status == "")
	return a
}

// asksForDelivery reports whether propagation handles an Application. Its label requests delivery,
// or is invalid, which propagation reports. Propagation also handles an Application with a
// remaining condition, for example about a held removal.
func asksForDelivery(s *sent) bool {
	value, labelled := s.Metadata.Labels[contract.PullLabel]
	yes, valid := contract.IsTrue(value)
	return labelled && (yes || !valid) ||
		find(s.Status.Conditions, func(t string) bool { return strings.HasPrefix(t, contract.ConditionPrefix) }) != nil
}

// intern returns one shared string for all equal strings.
func intern(s string) string { return unique.Make(s).Value() }

// addOperation adds the reason of a failed operation, unless another condition has it or the
// Application is healthy and synced by now.
func addOperation(a *model.App, message string) {
	if message == "" || !argocd.HasFailed(a.Phase) || a.Health == argocd.HealthHealthy && a.Sync == argocd.SyncSynced {
		return
	}
	for _, c := range a.Conditions {
		if status.RepeatsOperationError(message, contract.Condition(c)) {
			return
		}
	}
	a.Conditions = append(a.Conditions, v1alpha1.Condition{Type: status.OperationError, Message: strings.Clone(message)})
}

// deliver sets the state of the delivery from the status that propagation has written. empty is
// true if the status is empty.
func deliver(a *model.App, m *metav1.ObjectMeta, conditions []condition, rendered, empty bool) {
	if !rendered {
		a.Since = m.CreationTimestamp.Time
	}
	failure := find(conditions, func(t string) bool { return t == contract.DeliveryErrorCondition })
	warning := find(conditions, func(t string) bool { return t == contract.DeliveryWarningCondition })
	say := func(state model.State, c *condition) {
		a.State = state
		if c == nil {
			return
		}
		a.Message = strings.Clone(contract.Message(c.Message, &contract.Rejected{}))
		if !c.LastTransitionTime.IsZero() {
			a.Since = c.LastTransitionTime.Time
		}
	}
	switch {
	case rendered:
		say(model.Rendered, find(conditions, func(t string) bool { return strings.HasSuffix(t, "Error") }))
	case failure != nil && m.DeletionTimestamp == nil:
		say(model.Refused, failure)
	case warning != nil && strings.Contains(warning.Message, contract.WithdrawalHeld):
		say(model.Held, warning)
	case warning != nil && strings.HasPrefix(warning.Message, contract.DeliveryPaused):
		say(model.Paused, warning)
	case m.DeletionTimestamp != nil:
		a.Since = m.DeletionTimestamp.Time
		say(model.Deleting, cmp.Or(failure, warning))
	case warning != nil:
		say(model.Warned, warning)
	case empty:
		a.State, a.Message = model.Waiting, "no status yet: propagation has not delivered it, or the managed cluster has not reported"
	default:
		a.Since = time.Time{} // it is not shown
	}
}

func find(conditions []condition, match func(string) bool) *condition {
	for i := range conditions {
		if match(conditions[i].Type) {
			return &conditions[i]
		}
	}
	return nil
}
