// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Request is an operation or a refresh that the hub asks for once. Its way, unless it is
// a refresh alone (see planRefresh):
//
//	hub: request           -> a claim on the Application gives it an identity
//	hub: request and claim -> the work carries both
//	feedback: done         -> request and claim leave the Application, in one write
//	hub: no claim          -> the work drops the request
//
// Each step follows from what is stored, so a crash between any two repeats none
// of them. Done is what the managed cluster proves: an Application that was
// applied with this very request and whose .operation has no field manager any more. The
// work keeps the request until then, because taking an operation out of a work
// takes it out of the Application there, be it waiting or running. It does not run
// again meanwhile: the agent does not apply an Application whose manifest has not
// changed (that is what ignoreFields OnSpokeChange does), and we do not change it.
// That the request stays on the hub until it is done also makes Argo CD's clients
// there wait for the right thing, and lets them terminate it. One that takes its place
// on the hub meanwhile is run next: the claim says which one is under way.
//
// Everything else in the Application waits, too, for an Application that is applied
// again runs the operation again. Only while the managed cluster cannot have seen it
// (see [NeverSeen]) does the rest of the work change around it; AppProjects, which are
// manifests of their own, change at any time.
type Request struct {
	// ID is the claim, "" without a request.
	ID        string
	Operation json.RawMessage
	Refresh   string
	// StartedAt is set when the operation, which began then, is to end early.
	StartedAt string
}

// ClaimCondition on a hub Application names the request that is under way.
const ClaimCondition = "PullDeliveryRequest"

// Terminating reports whether a user of the hub asked to terminate an operation.
func Terminating(app *argocd.Application) bool {
	_, yes := terminated(app)
	return yes
}

// terminated returns when the operation began that a user of the hub asked to terminate, ""
// where the hub does not know.
func terminated(app *argocd.Application) (startedAt string, yes bool) {
	var status struct {
		OperationState struct {
			Phase     string `json:"phase"`
			StartedAt string `json:"startedAt"`
		} `json:"operationState"`
	}
	err := json.Unmarshal(app.Status, &status)
	return status.OperationState.StartedAt, err == nil && status.OperationState.Phase == argocd.OperationTerminating
}

// Annotate marks the work, and the Application in it, with the request.
func (r Request) Annotate(annotations map[string]string) {
	if r.ID != "" {
		annotations[contract.RequestAnnotation] = r.ID
	}
}

// Status returns the status that ends an operation, as Argo CD's own API server
// writes it; the managed cluster's controller owns everything else in there.
func (r Request) Status() (json.RawMessage, error) {
	if r.StartedAt == "" {
		return nil, nil
	}
	raw, err := json.Marshal(map[string]any{"operationState": map[string]any{
		"operation": r.Operation,
		"phase":     argocd.OperationTerminating,
		"startedAt": r.StartedAt,
	}})
	if err != nil {
		return nil, fmt.Errorf("encode operation state: %w", err)
	}
	return raw, nil
}

// FeedbackPaths returns what the agent must report for the request to be seen through.
func (r Request) FeedbackPaths() []workv1.JsonPath {
	if r.ID == "" {
		return nil
	}
	return contract.RequestPaths()
}
