// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
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
// there wait for the right thing, and lets them terminate it.
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

const (
	kindOperation   = "operation"
	kindRefresh     = "refresh"
	terminateSuffix = "/terminate"
)

// step is what to do next about the request of an Application.
type step int

const (
	stepSend   step = iota // the work is to carry plan.request, which may be none
	stepClaim              // give the request an identity
	stepHold               // leave the work as it is: the managed cluster is at it
	stepFinish             // the request is done: remove it and its claim
	stepDrop               // the request was taken back: remove the claim
)

// plan says what to do about a request.
type plan struct {
	step    step
	request request
}

// planRequest decides from the Application, its claim and the work that carries it,
// which may be nil.
func planRequest(app *argocd.Application, claim string, work *workv1.ManifestWork) plan {
	wanted := wantedKinds(app)
	if claim == "" {
		if len(wanted) > 0 {
			return plan{step: stepClaim, request: request{ID: newClaim(app, wanted)}}
		}
		return plan{}
	}
	kinds := kindsOf(claim)
	for _, kind := range kinds {
		if !slices.Contains(wanted, kind) {
			return plan{step: stepDrop, request: request{ID: claim}}
		}
	}
	r := request{ID: claim}
	if slices.Contains(kinds, kindOperation) {
		r.Operation = app.Operation
	}
	if slices.Contains(kinds, kindRefresh) {
		r.Refresh = app.Annotations[argocd.RefreshAnnotation]
	}
	if work == nil {
		return plan{request: r}
	}
	sent := work.Annotations[wire.RequestAnnotation]
	if strings.TrimSuffix(sent, terminateSuffix) != claim {
		return plan{request: r}
	}
	heard := requestFeedback(work)
	switch {
	case heard.done(sent, kinds):
		return plan{step: stepFinish, request: r}
	case sent == claim && r.Operation != nil && terminating(app) && heard.running(claim):
		r.ID += terminateSuffix
		r.StartedAt = heard.startedAt
		return plan{request: r}
	case notApplied(work):
		// The managed cluster refused it: a better one must not wait for it.
		return plan{request: r}
	}
	r.ID = sent
	return plan{step: stepHold, request: r}
}

// wantedKinds returns what the hub Application asks for.
func wantedKinds(app *argocd.Application) []string {
	var kinds []string
	if len(app.Operation) > 0 && string(app.Operation) != "null" {
		kinds = append(kinds, kindOperation)
	}
	if app.Annotations[argocd.RefreshAnnotation] != "" {
		kinds = append(kinds, kindRefresh)
	}
	return kinds
}

// newClaim returns an identity that no other request of any Application has: the
// resource version is the moment at which it was first seen.
func newClaim(app *argocd.Application, kinds []string) string {
	sum := sha256.Sum256([]byte(string(app.UID) + "/" + app.ResourceVersion))
	return strings.Join(kinds, "+") + "-" + hex.EncodeToString(sum[:5])
}

func kindsOf(claim string) []string {
	kinds, _, _ := strings.Cut(claim, "-")
	return strings.Split(kinds, "+")
}

// claimMessage is what the condition says; its first word is the claim.
func claimMessage(claim, cluster string) string {
	return fmt.Sprintf("%s is with cluster %q; it leaves this Application when the cluster has run it", claim, cluster)
}

// claimOf returns the claim among an Application's conditions, or "".
func claimOf(conditions []appstatus.Condition) string {
	for _, c := range conditions {
		if c.Type == ClaimCondition {
			claim, _, _ := strings.Cut(c.Message, " ")
			return claim
		}
	}
	return ""
}

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
