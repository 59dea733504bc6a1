// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Application contains the fields of an Application on the hub or a managed cluster that a user reads.
type Application struct {
	Namespace, Name string
	// Target is the managed cluster that a hub Application selects.
	Target                 string
	Sync, Health, Revision string
	Phase, PhaseMessage    string
	Conditions             []Condition
	Deleting               bool
}

// Condition is a condition of an Application.
type Condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// newApplication reads an Application. It converts an invalid status into a condition, so that the error of a
// wait shows the cause.
func newApplication(a *argocd.Application) Application {
	var status struct {
		Sync           struct{ Status, Revision string }
		Health         struct{ Status string }
		OperationState struct{ Phase, Message string }
		Conditions     []Condition
	}
	if len(a.Status) > 0 {
		if err := json.Unmarshal(a.Status, &status); err != nil {
			status.Conditions = []Condition{{Type: "Unreadable", Message: err.Error()}}
		}
	}
	target := a.Annotations[contract.ClusterAnnotation]
	if a.Labels[contract.RenderedLabel] == "true" {
		var spec struct{ Destination struct{ Namespace string } }
		if json.Unmarshal(a.Spec, &spec) == nil {
			target = spec.Destination.Namespace
		}
	}
	return Application{
		Namespace: a.Namespace, Name: a.Name, Target: target,
		Sync: status.Sync.Status, Health: status.Health.Status, Revision: status.Sync.Revision,
		Phase: status.OperationState.Phase, PhaseMessage: status.OperationState.Message,
		Conditions: status.Conditions, Deleting: a.DeletionTimestamp != nil,
	}
}

// SyncedAndHealthy reports whether the Application is Healthy, and Synced to a revision, or to any if
// revision is "".
func (a Application) SyncedAndHealthy(revision string) bool {
	return a.Sync == argocd.SyncSynced && a.Health == argocd.HealthHealthy && (revision == "" || a.Revision == revision)
}

// Message returns the first condition, or the message of a last operation that has not succeeded. It is empty
// without any.
func (a Application) Message() string {
	for _, c := range a.Conditions {
		return c.Type + ": " + c.Message
	}
	if a.Phase != "" && a.Phase != argocd.OperationSucceeded {
		return a.PhaseMessage
	}
	return ""
}

// String returns the Application as one line of text.
func (a Application) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s/%s %s %s %s", a.Name, cmp.Or(a.Sync, "-"), cmp.Or(a.Health, "-"), Short(a.Revision), a.Phase, a.Message()))
}

// Short returns the first seven characters of a revision, like git.
func Short(revision string) string { return revision[:min(7, len(revision))] }
