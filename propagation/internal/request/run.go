// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"slices"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Run records who asked for the last operation that a managed cluster reports.
type Run struct {
	// OfHub is true if the hub asked for it.
	OfHub bool
	// Waits is true if the hub asks for an operation that its status does not show, and another one
	// has ended. Clients of Argo CD remove the state of the last operation when they ask for the
	// next one.
	Waits bool
	// Operation is the operation in the form that the hub's status shows. It is empty if the hub
	// asks for another one by now.
	Operation appstatus.Fields
}

// RunOf decides from the Application and the work that carries it. All values of the work's
// feedback come from one state of the delivered Application.
func RunOf(app *argocd.Application, work *manifestcache.Work) Run {
	reported := feedbackOf(work)
	another := Run{Waits: contentOf(app, KindOperation) != "" && !inProgress(reported.phase) && appstatus.FieldsOf(app.Status)["operationState"] == nil}
	sent := sentWith(work)
	if sent == "" || IsRefresh(sent) {
		return another
	}
	conditions, err := appstatus.Conditions(app.Status)
	if err != nil {
		return another // such a status is not written
	}
	claim, _ := ClaimOf(conditions)
	switch {
	case claimIn(sent) != claim, !slices.Contains(kindsOf(claim), KindOperation), !reported.applied(sent):
		return another
	case reported.owner != "" && !inProgress(reported.phase):
		return another // the operation waits, and the report is about the previous one
	}
	run := Run{OfHub: true, Waits: another.Waits, Operation: appstatus.Fields{}}
	if same, _ := unchanged(app, claim); slices.Contains(same, KindOperation) {
		run.Waits, run.Operation = false, shown(app.Operation)
	}
	return run
}

func inProgress(phase string) bool {
	return phase == argocd.OperationRunning || phase == argocd.OperationTerminating
}

// operation is the part of an operation that the hub's status shows.
type operation struct {
	InitiatedBy struct {
		Username  string `json:"username,omitempty"`
		Automated bool   `json:"automated,omitempty"`
	} `json:"initiatedBy,omitzero"`
	Info []info `json:"info,omitempty"`
	Sync struct {
		Revision  string   `json:"revision,omitempty"`
		Revisions []string `json:"revisions,omitempty"`
	} `json:"sync,omitzero"`
	Retry struct {
		Limit   int64 `json:"limit,omitempty"`
		Backoff struct {
			Duration    string `json:"duration,omitempty"`
			MaxDuration string `json:"maxDuration,omitempty"`
			Factor      int64  `json:"factor,omitempty"`
		} `json:"backoff,omitzero"`
	} `json:"retry,omitzero"`
}

type info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxInfo is how many entries of an operation's info the hub's status shows.
const maxInfo = 16

// shown returns the part of an operation that the hub's status shows. Its size is bounded.
func shown(raw json.RawMessage) appstatus.Fields {
	var o operation
	if json.Unmarshal(raw, &o) != nil {
		return appstatus.Fields{} // of another version of Argo CD
	}
	var rejected contract.Rejected // the operation itself stays complete
	bound := func(texts ...*string) {
		for _, text := range texts {
			*text = contract.Message(*text, &rejected)
		}
	}
	o.Info, o.Sync.Revisions = contract.Clip(o.Info, maxInfo, &rejected), contract.Clip(o.Sync.Revisions, contract.MaxSources, &rejected)
	bound(&o.InitiatedBy.Username, &o.Sync.Revision, &o.Retry.Backoff.Duration, &o.Retry.Backoff.MaxDuration)
	for i := range o.Info {
		bound(&o.Info[i].Name, &o.Info[i].Value)
	}
	for i := range o.Sync.Revisions {
		bound(&o.Sync.Revisions[i])
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return appstatus.Fields{}
	}
	return appstatus.FieldsOf(raw)
}

// State returns the operationState for a merge patch of the hub Application's status, or nil if the
// cluster reports no operation.
func (r Run) State(hub json.RawMessage, observed *status.Observation) any {
	reported := observed.Operation
	if reported.Phase == "" || r.Waits {
		return nil
	}
	var before struct {
		OperationState json.RawMessage `json:"operationState"`
	}
	var was struct {
		Phase     string `json:"phase"`
		StartedAt string `json:"startedAt"`
	}
	if json.Unmarshal(hub, &before) == nil {
		_ = json.Unmarshal(before.OperationState, &was) // a malformed state counts as another state
	}
	state := appstatus.Fields{
		"phase": reported.Phase, "startedAt": reported.StartedAt, "operation": r.Operation,
		"finishedAt": appstatus.Optional(reported.FinishedAt), "message": appstatus.Optional(reported.Message),
	}
	if observed.OperationRevision != "" || len(observed.OperationRevisions) > 0 {
		// the CRD requires a revision, even without a source
		state["syncResult"] = appstatus.Fields{"revision": observed.OperationRevision, "revisions": appstatus.OptionalList(observed.OperationRevisions)}
	}
	another := was.StartedAt != reported.StartedAt
	switch {
	case another && !r.OfHub:
		// Argo CD's page reports a last sync only if the operation has a sync.
		state["operation"] = appstatus.Fields{"initiatedBy": appstatus.Fields{"automated": true}, "sync": appstatus.Fields{}}
	case !another && len(r.Operation) == 0:
		state["operation"] = appstatus.Fields{} // unchanged
	}
	if another || len(r.Operation) > 0 {
		// Fields of another operation must not remain under the name of this one.
		old := appstatus.FieldsOf(before.OperationState)
		if !another {
			old = appstatus.Fields{"operation": old["operation"]}
		}
		state = appstatus.Replace(old, state)
	}
	if !another && was.Phase == argocd.OperationTerminating && reported.Phase == argocd.OperationRunning {
		// A user of the hub terminates it. The managed cluster has not received that yet.
		state["phase"] = argocd.OperationTerminating
	}
	return state
}
