// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"strconv"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// terminateSuffix follows a claim if its operation has to be terminated. From the second attempt
// on, a number follows.
const terminateSuffix = "/terminate"

// claimIn returns the claim of a request, without its termination.
func claimIn(sent string) string {
	claim, _, _ := strings.Cut(sent, terminateSuffix)
	return claim
}

// withTermination returns a request with its first or its next termination.
func withTermination(sent string) string {
	claim, attempt, again := strings.Cut(sent, terminateSuffix)
	if !again {
		return claim + terminateSuffix
	}
	last, err := strconv.Atoi(attempt)
	if err != nil {
		last = 1
	}
	return claim + terminateSuffix + strconv.Itoa(last+1)
}

// Terminating reports whether a user of the hub asked to terminate an operation.
func Terminating(app *argocd.Application) bool {
	_, yes := terminated(app)
	return yes
}

// terminated returns when the operation started that a user of the hub asked to terminate.
// startedAt is "" if the hub does not have it.
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
