// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hubapps has the Applications of the hub that have something to say that no
// report does: those that are refused, held, paused, waiting or being deleted, and
// those of rendered mode. All others cost it nothing.
package hubapps

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// State says in one word what an Application is about.
type State string

// States, the worst first.
const (
	// Refused: propagation does not deliver it; the message has the remedy.
	Refused State = "Refused"
	// Held: its withdrawal waits for an approval.
	Held State = "Held"
	// Paused: a person has paused its delivery.
	Paused State = "Paused"
	// Waiting: its status is empty since it was created.
	Waiting State = "Waiting"
	// Deleting: it is being deleted, and the managed cluster has not proven it.
	Deleting State = "Deleting"
	// Warned: it is delivered, with a catch.
	Warned State = "Warning"
	// Rendered: the hub's Argo CD renders it, so the hub Application has its state.
	Rendered State = "Rendered"
)

// States are all of them, the worst first.
var States = []State{Refused, Held, Paused, Waiting, Deleting, Warned, Rendered}

// Application is one that has something to say.
type Application struct {
	Namespace, Name string
	// Cluster is the one that it asks for; empty when it names none.
	Cluster string
	// Set is the ApplicationSet that made it; empty when none did.
	Set   string
	State State
	// Message is propagation's, or that of the hub's Argo CD.
	Message string
	// Since is when it came to be so, zero when it is not recorded.
	Since time.Time
	// Health and Sync are the hub Application's own.
	Health, Sync string
}

// Compare orders Applications by state, the worst first, then by name.
func Compare(a, b *Application) int {
	return cmp.Or(
		cmp.Compare(slices.Index(States, a.State), slices.Index(States, b.State)),
		cmp.Compare(wellness(a), wellness(b)),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func wellness(a *Application) int {
	if a.State == Rendered && a.Health == argocd.HealthHealthy && a.Sync == argocd.SyncSynced {
		return 1
	}
	return 0
}

// classify returns what an Application has to say; false when that is nothing.
func classify(o *object) (Application, bool) {
	var ignored contract.Rejected
	a := Application{
		Namespace: o.Namespace, Name: o.Name, Set: o.set,
		Cluster: contract.Name(o.Annotations[contract.ClusterAnnotation], &ignored),
		Health:  contract.Token(o.status.Health.Status, &ignored), Sync: contract.Token(o.status.Sync.Status, &ignored),
		Since: o.CreationTimestamp.Time,
	}
	conditions := contract.Clip(o.status.Conditions, contract.MaxConditions, &ignored)
	failure := find(conditions, func(t string) bool { return t == contract.DeliveryErrorCondition })
	warning := find(conditions, func(t string) bool { return t == contract.DeliveryWarningCondition })
	switch {
	case o.rendered:
		a.State, a.Since = Rendered, time.Time{}
		a.setCondition(find(conditions, func(t string) bool { return strings.HasSuffix(t, "Error") }))
	case failure != nil && o.DeletionTimestamp == nil:
		a.State = Refused
		a.setCondition(failure)
	case warning != nil && strings.Contains(warning.Message, contract.WithdrawalHeld):
		a.State = Held
		a.setCondition(warning)
	case warning != nil && strings.HasPrefix(warning.Message, contract.DeliveryPaused):
		a.State = Paused
		a.setCondition(warning)
	case o.DeletionTimestamp != nil:
		a.State, a.Since = Deleting, o.DeletionTimestamp.Time
		a.setCondition(cmp.Or(failure, warning))
	case warning != nil:
		a.State = Warned
		a.setCondition(warning)
	case a.Health == "" && a.Sync == "":
		a.State, a.Message = Waiting, "no status yet: propagation has not delivered it, or the managed cluster has not reported"
	default:
		return Application{}, false
	}
	return a, true
}

func (a *Application) setCondition(c *condition) {
	if c == nil {
		return
	}
	a.Message = contract.Message(c.Message, &contract.Rejected{})
	if !c.LastTransitionTime.IsZero() {
		a.Since = c.LastTransitionTime.Time
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

// Condition returns what the Application says as a report's condition, so that errors
// can be grouped with those of reports.
func (a *Application) Condition() v1alpha1.Condition {
	return v1alpha1.Condition{Type: string(a.State), Message: a.Message}
}

// object is an Application as far as it is read, and the little of it that is kept
// between two events is less still.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	status   appStatus
	set      string
	rendered bool
}

type condition struct {
	Type               string      `json:"type"`
	Message            string      `json:"message"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

type appStatus struct {
	Health     code        `json:"health"`
	Sync       code        `json:"sync"`
	Conditions []condition `json:"conditions"`
}
