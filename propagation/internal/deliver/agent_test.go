// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// managed simulates the work agent and Argo CD of a managed cluster for one work. The agent applies a
// manifest if it differs from the last one. Argo CD runs an operation and then removes it.
type managed struct {
	t    *testing.T
	work client.ObjectKey

	mu sync.Mutex
	// applied is the manifest that was applied last.
	applied string
	// annotation is the request on the managed cluster's Application.
	annotation string
	// operation is pending or running. refresh is pending.
	operation, refresh string
	running            bool
	// phase and startedAt belong to the last operation.
	phase, startedAt string
	// ran, refreshed and ended count the operations, the refreshes and the terminated operations.
	ran, refreshed, ended int
	// values are further feedback values.
	values map[string]string
}

// apply applies the work, as the agent does after a change and on its timer.
func (m *managed) apply() {
	m.t.Helper()
	work := m.get()
	if work == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	manifest := work.Spec.Workload.Manifests[len(work.Spec.Workload.Manifests)-1].Raw
	if string(manifest) == m.applied {
		return
	}
	var app argocd.Application
	if err := json.Unmarshal(manifest, &app); err != nil {
		m.t.Fatalf("the agent cannot read the manifest: %v", err)
	}
	m.applied, m.annotation = string(manifest), app.Annotations[contract.RequestAnnotation]
	m.operation, m.refresh = string(app.Operation), app.Annotations[argocd.RefreshAnnotation]
	if m.operation == "" {
		m.running = false // the real Argo CD does the same
	}
	var status struct {
		OperationState struct{ Phase string } `json:"operationState"`
	}
	if len(app.Status) > 0 && json.Unmarshal(app.Status, &status) == nil && status.OperationState.Phase == argocd.OperationTerminating && m.running {
		m.ended++
		m.operation, m.running, m.phase = "", false, argocd.OperationFailed
	}
}

// begin starts a pending operation and a pending refresh, as Argo CD does. end finishes the operation.
func (m *managed) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.operation != "" && !m.running {
		m.running, m.phase = true, argocd.OperationRunning
		m.startedAt = fmt.Sprintf("2026-11-20T10:%02d:00Z", m.ran)
		m.ran++
	}
	if m.refresh != "" {
		m.refresh = ""
		m.refreshed++
	}
}

func (m *managed) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		m.operation, m.running, m.phase = "", false, argocd.OperationSucceeded
	}
}

// report writes the agent's current status into the work.
func (m *managed) report() {
	m.t.Helper()
	for {
		work := m.get()
		if work == nil {
			return
		}
		m.mu.Lock()
		values := maps.Clone(m.values)
		if values == nil {
			values = map[string]string{}
		}
		values[contract.FeedbackRequest], values[contract.FeedbackRefresh] = m.annotation, m.refresh
		if m.operation != "" {
			values[contract.FeedbackOperationOwner] = "work-agent"
		}
		if m.phase != "" {
			values[contract.FeedbackOperationPhase], values[contract.FeedbackOperationStartedAt] = m.phase, m.startedAt
		}
		m.mu.Unlock()
		asked := map[string]bool{}
		for _, config := range work.Spec.ManifestConfigs {
			for _, rule := range config.FeedbackRules {
				for _, path := range rule.JsonPaths {
					asked[path.Name] = true
				}
			}
		}
		var feedback []workv1.FeedbackValue
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if value := values[name]; value != "" && asked[name] {
				feedback = append(feedback, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
			}
		}
		applied := metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", ObservedGeneration: work.Generation}
		meta.SetStatusCondition(&work.Status.Conditions, applied)
		work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: work.Annotations[contract.HubNamespaceAnnotation], Name: work.Annotations[contract.HubNameAnnotation]},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: feedback},
			Conditions:      []metav1.Condition{{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestComplete", ObservedGeneration: work.Generation, LastTransitionTime: metav1.Now()}},
		}}
		err := hub.client.Status().Update(context.Background(), work)
		if apierrors.IsConflict(err) {
			continue
		}
		if client.IgnoreNotFound(err) != nil {
			m.t.Fatalf("report: %v", err)
		}
		return
	}
}

func (m *managed) get() *workv1.ManifestWork {
	work := &workv1.ManifestWork{}
	err := hub.client.Get(context.Background(), m.work, work)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		m.t.Fatalf("the agent cannot get its work: %v", err)
	}
	return work
}

func withOperationState(t *testing.T, status json.RawMessage, state string) json.RawMessage {
	t.Helper()
	fields := map[string]json.RawMessage{}
	if len(status) > 0 {
		if err := json.Unmarshal(status, &fields); err != nil {
			t.Fatalf("decode status: %v", err)
		}
	}
	fields["operationState"] = json.RawMessage(state)
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatalf("encode status: %v", err)
	}
	return raw
}
