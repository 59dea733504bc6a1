// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// operations sees one-time requests of Applications through.
type operations struct {
	*gatherer
	refreshes refreshes
}

// withCarriedRequest puts the request that a work carries in the place of q's.
func (op *operations) withCarriedRequest(ctx context.Context, current *manifestcache.Work, q request.Request) (request.Request, error) {
	stored, err := op.storedWork(ctx, current)
	if err != nil {
		return q, err
	}
	kept, err := payload.CarriedRequest(&stored.Spec, q)
	if err != nil {
		return q, fmt.Errorf("decode the Application in ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
	}
	return kept, nil
}

// endRefresh takes a refresh that came alone, and has been, off the Application.
func (op *operations) endRefresh(ctx context.Context, app *argocd.Application, id string) error {
	key := client.ObjectKeyFromObject(app)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": app.ResourceVersion, "annotations": withoutRefresh()}})
	if err != nil {
		return fmt.Errorf("encode Application patch: %w", err)
	}
	err = op.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	op.refreshes.end(key, id, app.ResourceVersion, err)
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("end %s of Application %s: %w", id, key, err))
	}
	ctrl.LoggerFrom(ctx).V(1).Info("refresh ended", "request", id)
	return nil
}

// plan says what is next about the Application's one-time request, whose work current is.
func (op *operations) plan(w policy.Inputs, current *manifestcache.Work) (s step, err error) {
	if s.conditions, err = appstatus.Conditions(w.Application.Status); err != nil {
		return s, reconcile.TerminalError(fmt.Errorf("read status of Application %s: %w", client.ObjectKeyFromObject(w.Application), err))
	}
	claim, made := request.ClaimOf(s.conditions)
	k := request.Known{Claim: claim, Unseen: request.NeverSeen(w.Cluster, made)}
	k.Refreshing, k.Refreshed = op.refreshes.of(w.Application)
	s.Plan, s.claim = request.PlanFor(w.Application, current, k), claim
	if s.Step != request.StepFinish || claim != "" || mirrored(w, current) {
		return s, nil
	}
	// Argo CD's clients take the status for the answer when the refresh is off.
	done, known := op.refreshes.doneFor(client.ObjectKeyFromObject(w.Application), s.Request.ID, op.now())
	if known && done < afterMirror {
		s.Plan, s.after = request.Plan{Request: s.Request}, afterMirror-done
	}
	return s, nil
}

// request sees the Application's one-time request through; written: the
// Application was changed, and its event leads to the next step.
func (op *operations) request(ctx context.Context, w policy.Inputs, current *manifestcache.Work) (s step, written bool, err error) {
	if s, err = op.plan(w, current); err != nil {
		return s, false, err
	}
	switch s.Step {
	case request.StepClaim:
		return s, true, op.claim(ctx, w.Application, s.conditions, s.Request.ID)
	case request.StepFinish, request.StepDrop:
		if s.claim == "" {
			return s, true, op.endRefresh(ctx, w.Application, s.Request.ID)
		}
		return s, true, op.finish(ctx, w.Application, s.conditions, s.Request.ID, s.Done)
	case request.StepSend:
		if s.claim == "" && s.after == 0 && request.IsRefresh(s.Request.ID) {
			op.refreshes.send(client.ObjectKeyFromObject(w.Application), s.Request.ID)
		}
		if s.Replaced {
			s.Request, err = op.withCarriedRequest(ctx, current, s.Request)
		}
	case request.StepHold:
	}
	return s, false, err
}

// claim gives the Application's request an identity.
func (op *operations) claim(ctx context.Context, app *argocd.Application, current []appstatus.Condition, id string) error {
	merged, _ := appstatus.Merge(current, isClaimCondition, []appstatus.Condition{{
		Type: request.ClaimCondition, Message: request.ClaimMessage(id, app.Annotations[contract.ClusterAnnotation]),
	}}, op.now())
	patch, err := appstatus.Patch(app.ResourceVersion, app.Status, conditionsField(merged))
	if err != nil || patch == nil {
		return err
	}
	if err := op.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("claim %s of Application %s/%s: %w", id, app.Namespace, app.Name, err))
	}
	return nil
}

// finish removes the kinds of request that are done together with their claim: one
// write, so that there is no moment in which they could be taken for new.
func (op *operations) finish(ctx context.Context, app *argocd.Application, current []appstatus.Condition, id string, kinds []string) error {
	merged, _ := appstatus.Merge(current, isClaimCondition, nil, op.now())
	metadata := map[string]any{"resourceVersion": app.ResourceVersion}
	patch := map[string]any{"metadata": metadata, "status": conditionsField(merged)}
	for _, kind := range kinds {
		switch kind {
		case request.KindOperation:
			patch["operation"] = nil
		case request.KindRefresh:
			metadata["annotations"] = withoutRefresh()
		}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("encode Application patch: %w", err)
	}
	if err := op.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, raw)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("finish %s of Application %s/%s: %w", id, app.Namespace, app.Name, err))
	}
	ctrl.LoggerFrom(ctx).Info("request ended", "request", id, "done", kinds)
	return nil
}

// step is what is next about an Application's one-time request.
type step struct {
	request.Plan
	conditions []appstatus.Condition
	// claim is that on the Application; a refresh alone has none.
	claim string
	// after is when to look again, 0 for not by the clock.
	after time.Duration
}

// over reports whether the request in a work has been, so that a write must not apply it again.
func (s *step) over(current *manifestcache.Work) bool {
	return s.Step == request.StepFinish || s.Request.ID != current.Extra.Request
}

// mirrored reports whether the Application's status has the sync status and revision that
// its work reports.
func mirrored(w policy.Inputs, current *manifestcache.Work) bool {
	observed := current.Observe(status.ClusterOf(current.Namespace, w.Cluster))
	var is struct {
		Sync struct{ Status, Revision string } `json:"sync"`
	}
	if !observed.Reported || json.Unmarshal(w.Application.Status, &is) != nil {
		return !observed.Reported
	}
	return is.Sync.Status == observed.Sync && (is.Sync.Revision == observed.Revision || observed.Revision == "")
}

// withoutRefresh is what a merge patch says of the annotations of a refresh that has been.
func withoutRefresh() map[string]any {
	annotations := map[string]any{}
	for _, name := range request.RefreshAnnotations() {
		annotations[name] = nil
	}
	return annotations
}
