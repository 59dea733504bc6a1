// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// written is the part of a hub Application's status that this package writes.
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
}

// revisions is the revision of an Application's source, or the revisions of several sources.
type revisions struct {
	Revision  string   `json:"revision"`
	Revisions []string `json:"revisions"`
}

// statusPatch returns the merge patch that writes an observation into the Application's status, or
// nil if nothing differs. source is the UID of the ManifestWork from which the stored status comes.
// It is empty if the UID is not known. run is the observed operation and who asked for it.
func statusPatch(app *argocd.Application, observed status.Observation, run request.Run, source types.UID, now time.Time) ([]byte, error) {
	before, err := read(app.Status)
	if err != nil {
		return nil, err
	}
	observed = status.FillTransientGaps(previous(before, source), observed)
	want := appstatus.Fields{
		"health":         appstatus.Fields{"status": observed.Health, "message": appstatus.Optional(observed.HealthMessage)},
		"sync":           appstatus.Fields{"status": observed.Sync, "revision": appstatus.Optional(observed.Revision), "revisions": appstatus.OptionalList(observed.Revisions)},
		"operationState": run.State(app.Status, &observed),
	}
	if err := conditions(want, app.Status, status.OwnsStatusCondition, observed.StatusConditions(), now); err != nil {
		return nil, err
	}
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, want)
	if err != nil || observed.Reason != "" || observed.ReconciledAt == "" || maybeBefore(observed) || patch == nil && !comparedSince(before, observed) {
		return patch, err
	}
	want["reconciledAt"] = observed.ReconciledAt
	return appstatus.Patch(app.ResourceVersion, app.Status, want)
}

// maybeBefore reports whether the managed cluster may have compared before its last operation
// ended. Times in whole seconds cannot show the order. Kargo would take the health of the previous
// version for the health of the promoted version. A failed operation promotes nothing, and its
// notification must not wait.
func maybeBefore(observed status.Observation) bool {
	if observed.Operation.FinishedAt == "" {
		return observed.Operation.Phase != ""
	}
	return observed.ReconciledAt == observed.Operation.FinishedAt &&
		observed.Sync != argocd.SyncSynced && observed.Operation.Phase == argocd.OperationSucceeded
}

// comparedSince reports whether the managed cluster has compared since the last operation, and the
// hub Application does not show it. Until it does, Argo CD's notifications controller sends nothing
// about a finished operation. Other times of a comparison are written with the next change.
func comparedSince(before written, observed status.Observation) bool {
	finished, err := time.Parse(time.RFC3339, observed.Operation.FinishedAt)
	if err != nil {
		return false
	}
	shown, _ := time.Parse(time.RFC3339, before.ReconciledAt) // a missing time is the zero time
	now, err := time.Parse(time.RFC3339, observed.ReconciledAt)
	return err == nil && shown.Before(finished) && !now.Before(finished)
}

// removeOwnedConditionsPatch removes this package's conditions from an Application that is neither
// pulled nor delivered any more. The rest of the status belongs to its present owner.
func removeOwnedConditionsPatch(app *argocd.Application, now time.Time) ([]byte, error) {
	want := appstatus.Fields{}
	if err := conditions(want, app.Status, status.IsOwnCondition, nil, now); err != nil {
		return nil, err
	}
	return appstatus.Patch(app.ResourceVersion, app.Status, want)
}

// conditions adds the desired conditions to want if they differ from the existing ones.
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
	var w written
	if len(status) == 0 {
		return w, nil
	}
	if err := json.Unmarshal(status, &w); err != nil {
		return w, fmt.Errorf("%w: %w", appstatus.ErrMalformed, err)
	}
	return w, nil
}

// hasHealth reports whether a status has a health. A malformed status counts as a status with a
// health, because its patch reports the error.
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

// previous returns the hub Application's present status in the form that FillTransientGaps reads.
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
