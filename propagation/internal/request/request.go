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

// Request is an operation or a refresh that the hub asks for once. A refresh alone has a shorter way
// (see planRefresh). An operation has these steps:
//
//	hub: request           -> a claim on the Application gives it an identity
//	hub: request and claim -> the work carries both
//	feedback: done         -> request and claim leave the Application, in one write
//	hub: no claim          -> the work drops the request
//
// Each step follows from the stored objects, so a crash between two steps repeats none of them. The
// managed cluster proves that a request is done: the Application was applied with this request, and its
// .operation has no field manager any more. The work keeps the request until then. Removing an
// operation from the work would also remove a waiting or running operation on the cluster. The
// operation does not run again meanwhile. The agent does not apply an Application with an unchanged
// manifest (ignoreFields with OnSpokeChange), and propagation does not change it.
//
// The request also stays on the hub until it is done. So Argo CD's clients there wait for it, and can
// terminate it. If another request replaces it on the hub, the new request runs next. The claim names
// the request that is running.
//
// All other changes of the Application wait as well, because applying it again would run the operation
// again. Two exceptions exist. While the managed cluster cannot have received the request (see
// [NeverSeen]), the rest of the work may change. AppProjects are separate manifests and change at any
// time.
type Request struct {
	// ID is the claim, or "" without a request.
	ID        string
	Operation json.RawMessage
	Refresh   string
	// StartedAt is when the operation started that has to be terminated, or "".
	StartedAt string
}

// ClaimCondition is the condition of a hub Application that names the running request.
const ClaimCondition = "PullDeliveryRequest"

// Annotate adds the request to the annotations of the work or of its Application.
func (r Request) Annotate(annotations map[string]string) {
	if r.ID != "" {
		annotations[contract.RequestAnnotation] = r.ID
	}
}

// Status returns the status that terminates an operation, as Argo CD's own API server writes it.
// The managed cluster's controller owns the rest of the status.
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

// FeedbackPaths returns the paths that the agent has to report about the request.
func (r Request) FeedbackPaths() []workv1.JsonPath {
	if r.ID == "" {
		return nil
	}
	return contract.RequestPaths()
}
