// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// written is the part of a hub Application's status that this package writes
// and reads back.
type written struct {
	Sync           revisions `json:"sync"`
	ReconciledAt   string    `json:"reconciledAt"`
	OperationState struct {
		Phase      string    `json:"phase"`
		StartedAt  string    `json:"startedAt"`
		FinishedAt string    `json:"finishedAt"`
		Message    string    `json:"message"`
		SyncResult revisions `json:"syncResult"`
	} `json:"operationState"`
	// status is the whole of it, for what others wrote there.
	status json.RawMessage
}

// revisions is that of an Application's source, or those of several.
type revisions struct {
	Revision  string   `json:"revision"`
	Revisions []string `json:"revisions"`
}

// statusPatch returns the merge patch that makes the Application's status say
// what was observed, or nil when it does. source is the UID of the ManifestWork that the
// stored status comes from, empty when that is not known. Annotations that are named leave the
// Application with it.
func statusPatch(app *argocd.Application, observed status.Observation, source types.UID, now time.Time) ([]byte, error) {
	before, err := read(app.Status)
	if err != nil {
		return nil, err
	}
	observed = status.FillTransientGaps(previous(before, source), observed)
	want := appstatus.Fields{
		"health":         appstatus.Fields{"status": observed.Health, "message": orNothing(observed.HealthMessage)},
		"sync":           appstatus.Fields{"status": observed.Sync, "revision": orNothing(observed.Revision), "revisions": orNone(observed.Revisions)},
		"operationState": operationState(before, &observed),
	}
	if err := conditions(want, app.Status, status.OwnsStatusCondition, observed.StatusConditions(), now); err != nil {
		return nil, err
	}
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, want)
	if err != nil || observed.Reason != "" || observed.ReconciledAt == "" || patch == nil && !comparedSince(before, observed) {
		return patch, err
	}
	want["reconciledAt"] = observed.ReconciledAt
	return appstatus.Patch(app.ResourceVersion, app.Status, want)
}

// comparedSince reports whether the managed cluster has compared since the last operation, and
// the hub Application does not show it. Argo CD's notifications controller sends nothing about
// a finished operation until then. Any other time of a comparison goes with the next change.
func comparedSince(before written, observed status.Observation) bool {
	finished, err := time.Parse(time.RFC3339, observed.Operation.FinishedAt)
	if err != nil {
		return false
	}
	shown, _ := time.Parse(time.RFC3339, before.ReconciledAt) // none is the zero time
	now, err := time.Parse(time.RFC3339, observed.ReconciledAt)
	return err == nil && shown.Before(finished) && !now.Before(finished)
}

// removeOwnedConditionsPatch takes this package's own conditions off an Application that is
// not pulled any more. The rest of the status belongs to whoever has it now.
func removeOwnedConditionsPatch(app *argocd.Application, now time.Time) ([]byte, error) {
	want := appstatus.Fields{}
	if err := conditions(want, app.Status, status.IsOwnCondition, nil, now); err != nil {
		return nil, err
	}
	return appstatus.Patch(app.ResourceVersion, app.Status, want)
}

// conditions adds the wanted conditions to want when they differ from the current ones.
func conditions(want appstatus.Fields, status json.RawMessage, owned func(string) bool, list []contract.Condition, now time.Time) error {
	current, err := appstatus.Conditions(status)
	if err != nil {
		return err
	}
	wanted := make([]appstatus.Condition, len(list))
	for i, c := range list {
		wanted[i] = appstatus.Condition{Type: c.Type, Message: c.Message}
	}
	merged, changed := appstatus.Merge(current, owned, wanted, now)
	switch {
	case !changed:
	case len(merged) == 0:
		want["conditions"] = nil
	default:
		want["conditions"] = merged
	}
	return nil
}

func read(status json.RawMessage) (written, error) {
	w := written{status: status}
	if len(status) == 0 {
		return w, nil
	}
	if err := json.Unmarshal(status, &w); err != nil {
		return w, fmt.Errorf("%w: %w", appstatus.ErrMalformed, err)
	}
	return w, nil
}

// hasHealth reports whether a status names a health. One that cannot be read counts as
// one that does: its patch reports what is wrong.
func hasHealth(status json.RawMessage) bool {
	if len(status) == 0 {
		return false
	}
	var s struct {
		Health struct {
			Status string `json:"status"`
		} `json:"health"`
	}
	return json.Unmarshal(status, &s) != nil || s.Health.Status != ""
}

// previous is what the hub Application said so far, as far as FillTransientGaps reads it.
func previous(w written, source types.UID) status.Observation {
	return status.Observation{
		Work:     source,
		Revision: w.Sync.Revision, Revisions: w.Sync.Revisions,
		OperationRevision: w.OperationState.SyncResult.Revision, OperationRevisions: w.OperationState.SyncResult.Revisions,
		Operation: contract.OperationFeedback{
			Phase:      w.OperationState.Phase,
			StartedAt:  w.OperationState.StartedAt,
			FinishedAt: w.OperationState.FinishedAt,
			Message:    w.OperationState.Message,
		},
	}
}

func operationState(before written, observed *status.Observation) any {
	operation := observed.Operation
	if operation.Phase == "" {
		return nil
	}
	state := appstatus.Fields{}
	inner := appstatus.Fields{}
	switch {
	case before.OperationState.StartedAt != operation.StartedAt:
		// Another operation: nothing of the one before may stay under its name.
		old := members(members(before.status)["operationState"])
		for name := range old {
			state[name] = nil
		}
		for name := range members(old["operation"]) {
			inner[name] = nil
		}
		state["phase"] = operation.Phase
	case before.OperationState.Phase == argocd.OperationTerminating && operation.Phase == argocd.OperationRunning:
		// A user of the hub terminates it; the managed cluster has not got that yet.
		state["phase"] = argocd.OperationTerminating
	default:
		state["phase"] = operation.Phase
	}
	state["operation"], state["startedAt"] = inner, operation.StartedAt
	state["finishedAt"], state["message"] = orNothing(operation.FinishedAt), orNothing(operation.Message)
	if observed.OperationRevision != "" || len(observed.OperationRevisions) > 0 {
		// the CRD wants a revision, be it that of no source
		state["syncResult"] = appstatus.Fields{"revision": observed.OperationRevision, "revisions": orNone(observed.OperationRevisions)}
	}
	return state
}

// members returns the members of an object; of anything else there are none.
func members(raw json.RawMessage) (m map[string]json.RawMessage) {
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// orNone is orNothing for a list.
func orNone(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// orNothing removes a member rather than writing it empty.
func orNothing(s string) any {
	if s == "" {
		return nil
	}
	return s
}
