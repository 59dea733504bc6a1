// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// A request is an operation or a refresh that the hub asks for once. Its way:
//
//	hub: request           -> a claim on the Application gives it an identity
//	hub: request and claim -> the work carries both
//	feedback: done         -> request and claim leave the Application, in one write
//	hub: no claim          -> the work drops the request
//
// Each step follows from what is stored, so a crash between any two repeats none
// of them. Done is what the managed cluster proves: an Application that was
// applied with this very request and whose .operation nobody owns any more. The
// work keeps the request until then, because taking an operation out of a work
// takes it out of the Application there, be it waiting or running. It does not run
// again meanwhile: the agent leaves an Application alone whose manifest has not
// changed (that is what ignoreFields OnSpokeChange does), and we do not change it.
// That the request stays on the hub until it is done also makes Argo CD's clients
// there wait for the right thing, and lets them terminate it. One that takes its place
// on the hub meanwhile is run next: the claim tells them apart.
//
// Everything else in the Application waits, too, for an Application that is applied
// again runs the operation again. Only while the managed cluster cannot have seen it
// (see neverSeen) does the rest of the work change around it; AppProjects, which are
// manifests of their own, change at any time.
type request struct {
	// ID is the claim, "" without a request.
	ID        string
	Operation json.RawMessage
	Refresh   string
	// StartedAt is set when the operation, which began then, is to end early.
	StartedAt string
}

// ClaimCondition on a hub Application names the request that is under way.
const ClaimCondition = "PullDeliveryRequest"

// terminating reports whether somebody on the hub asked to end the operation.
func terminating(app *argocd.Application) bool {
	var status struct {
		OperationState struct {
			Phase string `json:"phase"`
		} `json:"operationState"`
	}
	return json.Unmarshal(app.Status, &status) == nil && status.OperationState.Phase == argocd.OperationTerminating
}

// heard is what the managed cluster says about a request, all from one state of
// its Application.
type heard struct {
	request, owner, refresh, phase, startedAt string
}

func requestFeedback(work *workv1.ManifestWork) heard {
	var h heard
	m := applicationStatus(work)
	if m == nil {
		return h
	}
	for i := range m.StatusFeedbacks.Values {
		v := &m.StatusFeedbacks.Values[i]
		if v.Value.String == nil {
			continue
		}
		switch v.Name {
		case wire.FeedbackRequest:
			h.request = *v.Value.String
		case wire.FeedbackOperationOwner:
			h.owner = *v.Value.String
		case wire.FeedbackRefresh:
			h.refresh = *v.Value.String
		case wire.FeedbackOperationPhase:
			h.phase = *v.Value.String
		case wire.FeedbackOperationStartedAt:
			h.startedAt = *v.Value.String
		}
	}
	return h
}

// done: the request was applied, and nothing of it is left to do.
func (h heard) done(sent string, kinds []string) bool {
	return h.request == sent &&
		(h.owner == "" || !slices.Contains(kinds, kindOperation)) &&
		(h.refresh == "" || !slices.Contains(kinds, kindRefresh))
}

// saw: the request was applied.
func (h heard) saw(sent string) bool {
	return h.request != "" && (h.request == sent || h.request == strings.TrimSuffix(sent, terminateSuffix))
}

// running: Argo CD there is at it, so there is something to terminate.
func (h heard) running(sent string) bool {
	return h.request == sent && h.owner != "" && h.phase == argocd.OperationRunning && h.startedAt != ""
}

// applicationStatus returns what the agent says about the work's Application.
func applicationStatus(work *workv1.ManifestWork) *workv1.ManifestCondition {
	for i := range work.Status.ResourceStatus.Manifests {
		m := &work.Status.ResourceStatus.Manifests[i]
		if m.ResourceMeta.Group == argocd.Group && m.ResourceMeta.Resource == argocd.ApplicationPlural {
			return m
		}
	}
	return nil
}

// notApplied: the agent tried the work as it is now and could not apply the Application.
func notApplied(work *workv1.ManifestWork) bool {
	m := applicationStatus(work)
	if m == nil {
		return false
	}
	c := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == work.Generation
}

// annotate marks the work, and the Application in it, with the request.
func (r request) annotate(annotations map[string]string) {
	if r.ID != "" {
		annotations[wire.RequestAnnotation] = r.ID
	}
}

// status returns the status that ends an operation, as Argo CD's own API server
// writes it; the managed cluster's controller owns everything else in there.
func (r request) status() (json.RawMessage, error) {
	if r.StartedAt == "" {
		return nil, nil
	}
	return encode("operation state", map[string]any{"operationState": map[string]any{
		"operation": r.Operation,
		"phase":     argocd.OperationTerminating,
		"startedAt": r.StartedAt,
	}})
}

// feedback returns what the agent must report for the request to be seen through.
func (r request) feedback() []workv1.JsonPath {
	if r.ID == "" {
		return nil
	}
	return wire.RequestPaths()
}

// withoutRequest returns a spec of ours as it is without its request.
func withoutRequest(spec *workv1.ManifestWorkSpec) (*workv1.ManifestWorkSpec, error) {
	bare := spec.DeepCopy()
	last := len(bare.Workload.Manifests) - 1
	if last < 0 || len(bare.ManifestConfigs) == 0 {
		return bare, nil
	}
	var app deliveredApplication
	if err := json.Unmarshal(bare.Workload.Manifests[last].Raw, &app); err != nil {
		return nil, fmt.Errorf("decode delivered Application: %w", err)
	}
	app.Operation, app.Status = nil, nil
	delete(app.Metadata.Annotations, wire.RequestAnnotation)
	delete(app.Metadata.Annotations, argocd.RefreshAnnotation)
	raw, err := encode("Application", app)
	if err != nil {
		return nil, err
	}
	bare.Workload.Manifests[last].Raw = raw
	for i := range bare.ManifestConfigs[len(bare.ManifestConfigs)-1].FeedbackRules {
		rule := &bare.ManifestConfigs[len(bare.ManifestConfigs)-1].FeedbackRules[i]
		rule.JsonPaths = slices.DeleteFunc(rule.JsonPaths, func(p workv1.JsonPath) bool {
			return slices.Contains(wire.RequestPaths(), p)
		})
	}
	return bare, nil
}
