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

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// operations carries out the steps of one-time requests.
type operations struct {
	client    client.Client
	live      client.Reader
	now       func() time.Time
	refreshes refreshes
}

// withCarriedRequest returns q with the request that a work carries.
func (op *operations) withCarriedRequest(ctx context.Context, current *manifestcache.Work, q request.Request) (request.Request, error) {
	stored, err := storedWork(ctx, op.live, current)
	if err != nil {
		return q, err
	}
	kept, err := payload.CarriedRequest(&stored.Spec, q)
	if err != nil {
		return q, fmt.Errorf("decode the Application in ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
	}
	return kept, nil
}

// endRefresh removes a refresh from the Application, after the managed cluster has done it.
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

// next carries out the next step of the Application's one-time request, if that step writes the
// Application. The event of the write leads to the step after it.
func (op *operations) next(ctx context.Context, p *pass) error {
	step, app, key := p.plan.Request, p.facts.Application, p.facts.Key
	if p.plan.RefreshDone != "" {
		op.refreshes.markDone(key, p.plan.RefreshDone, op.now())
	}
	if step == nil {
		return nil
	}
	conditions, err := appstatus.Conditions(app.Status)
	if err != nil {
		return fmt.Errorf("read status of Application %s: %w", key, err)
	}
	switch {
	case step.Step == request.StepClaim:
		return op.claim(ctx, app, conditions, step.Request.ID)
	case p.facts.Request.Claim == "":
		return op.endRefresh(ctx, app, step.Request.ID)
	}
	return op.finish(ctx, &p.facts, conditions, step.Request.ID, step.Done)
}

// sending records that a refresh is about to be sent.
func (op *operations) sending(p *pass) {
	step := p.plan.Write.Request
	if step.Step == request.StepSend && p.facts.Request.Claim == "" && p.plan.RefreshDone == "" && request.IsRefresh(step.Request.ID) {
		op.refreshes.send(p.facts.Key, step.Request.ID)
	}
}

// over reports whether the request in a work is finished, so that a write must not apply it again.
func (op *operations) over(f *decide.Facts, work *decide.Work) bool {
	step := request.PlanFor(f.Application, work.Work, f.Request)
	return step.Step == request.StepFinish || step.Request.ID != work.Extra.Request
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

// finish removes the finished kinds of request together with their claim. This is one write, so
// that they are never taken for new ones. It also shows the operation in the status, because
// nothing has the operation's result afterwards.
func (op *operations) finish(ctx context.Context, facts *decide.Facts, current []appstatus.Condition, id string, kinds []string) error {
	app := facts.Application
	merged, _ := appstatus.Merge(current, isClaimCondition, nil, op.now())
	metadata, shown := map[string]any{"resourceVersion": app.ResourceVersion}, conditionsField(merged)
	var own []*manifestcache.Work
	for i := range facts.Works {
		if w := &facts.Works[i]; w.Relation != decide.Leftover && w.DeletionTimestamp == nil {
			own = append(own, w.Work)
		}
	}
	if work := payload.CurrentWork(app, own); work != nil {
		if run := request.RunOf(app, work); run.OfHub {
			observed := work.Observe(status.Cluster{Available: true})
			if state := run.State(app.Status, &observed); state != nil {
				shown["operationState"] = state
			}
		}
	}
	patch := map[string]any{"metadata": metadata, "status": shown}
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

// withoutRefresh returns the annotations of a merge patch that removes a refresh.
func withoutRefresh() map[string]any {
	annotations := map[string]any{}
	for _, name := range request.RefreshAnnotations() {
		annotations[name] = nil
	}
	return annotations
}
