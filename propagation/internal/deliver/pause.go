// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// pauseOn returns what pauses an act on the ManifestWorks of an Application, which is nil
// when it is gone, on a cluster: an annotation of one who may delay that, see
// [policy.MayDelay]. When the ManagedCluster is leaving nothing is paused.
func (f *gatherer) pauseOn(ctx context.Context, app *argocd.Application, g guard.Group, name string, act policy.Act) (policy.Pause, error) {
	var pauses []policy.Pause
	add := func(speaker policy.Speaker, o client.Object, kind string) {
		if !policy.MayDelay(speaker, act) {
			return
		}
		on := kind + " " + o.GetName()
		if o.GetNamespace() != "" {
			on = kind + " " + o.GetNamespace() + "/" + o.GetName()
		}
		pauses = append(pauses, policy.ParsePause(o.GetAnnotations()[contract.PauseAnnotation], on, f.now()))
	}
	cluster, err := getCluster(ctx, f.client, name)
	switch {
	case err != nil:
		return policy.Pause{}, err
	case cluster != nil && cluster.DeletionTimestamp != nil:
		return policy.Pause{}, nil
	case cluster != nil:
		add(policy.OnManagedCluster, cluster, "ManagedCluster")
	}
	if app != nil {
		add(policy.OnApplication, app, "Application")
	}
	if g.Set != "" {
		words, gone, err := f.wordsOfSet(ctx, g.Namespace, g.Set)
		if err != nil {
			return policy.Pause{}, err
		}
		set := argocd.ApplicationSetMetadata()
		set.Namespace, set.Name, set.Annotations = g.Namespace, g.Set, words
		if gone {
			set.Name += " (which is gone)"
		}
		add(policy.OnApplicationSet, set, argocd.ApplicationSetKind)
	}
	for name, speaker := range map[string]policy.Speaker{g.Namespace: policy.OnNamespace, f.options.HubNamespace: policy.OnHubNamespace} {
		if name == "" {
			continue
		}
		namespace := appcache.NamespaceMetadata()
		if err := f.decisionObject(ctx, namespace, client.ObjectKey{Name: name}); err != nil {
			return policy.Pause{}, err
		}
		namespace.SetName(name)
		add(speaker, namespace, "Namespace")
	}
	return policy.StrongestPause(pauses...), nil
}

// pauseOf returns what pauses an Application on its target.
func (f *gatherer) pauseOf(ctx context.Context, app *argocd.Application) (policy.Pause, error) {
	return f.pauseOn(ctx, app, guard.Group{Namespace: app.Namespace, Set: app.OwningApplicationSet()}, app.Annotations[contract.ClusterAnnotation], policy.Deliver)
}

// pausedDelivery leaves what is on the target as it is, but for what pause itself asks
// for, and says so when something waits.
func (r *Reconciler) pausedDelivery(ctx context.Context, w policy.Inputs, works []manifestcache.Cached, p policy.Pause, warnings []policy.Message) (ctrl.Result, error) {
	c, err := r.copiesOf(ctx, w.Application, works)
	if err != nil {
		return ctrl.Result{}, err
	}
	again := ctrl.Result{RequeueAfter: p.Left(r.now())}
	next, err := r.plan(w, c.current)
	if err != nil {
		return ctrl.Result{}, err
	}
	if p.Word == policy.PauseSync && next.Step != request.StepHold && syncs(c.current) {
		sent := c.current.Annotations[contract.RequestAnnotation]
		return again, r.pauseSync(ctx, c.current, next.Step == request.StepFinish || next.Request.ID != sent)
	}
	if next.Step == request.StepFinish && next.claim == "" {
		return again, r.endRefresh(ctx, w.Application, next.Request.ID) // no ManifestWork is written for it
	}
	again.RequeueAfter = sooner(again.RequeueAfter, next.after)
	n, err := r.waiting(w, c, next.Plan)
	if err == nil && n > 0 {
		err = r.updateProjects(ctx, c.standing())
	}
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case n == 1:
		return again, r.updateConditions(ctx, w.Application, p.Decision("1 change waits"))
	case n > 0 || p.Problem != "":
		return again, r.updateConditions(ctx, w.Application, p.Decision(fmt.Sprintf("%d changes wait", n)))
	}
	return again, r.updateConditions(ctx, w.Application, policy.Decision{Deliver: true, Warnings: warnings})
}

// syncs reports whether a work delivers an Application from which no pause has taken the
// automation. It is taken out once no operation is under way, or yet to be reported on: a
// write of the Application would have the agent apply that again.
func syncs(current *manifestcache.Cached) bool {
	return current != nil && current.Annotations[contract.PausedAnnotation] == "" && current.Annotations[contract.ObservedAnnotation] == ""
}

// pauseSync takes the automation out of the stored copy: the managed cluster's Argo CD
// goes on comparing and reporting, and does not act by itself. With over, the request in the
// copy has been, and the write must not apply it again.
func (wr *writer) pauseSync(ctx context.Context, current *manifestcache.Cached, over bool) error {
	stored, err := wr.storedWork(ctx, current)
	if err != nil {
		return err
	}
	err = payload.WithoutAutomation(&stored.Spec)
	if err == nil && over {
		err = payload.WithoutRequest(&stored.Spec)
	}
	if err != nil {
		return fmt.Errorf("pause ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
	}
	patch, err := payload.PausePatch(current, &stored.Spec)
	if err != nil {
		return err
	}
	if _, err := wr.patchWork(ctx, current, patch); err != nil {
		return err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("paused syncs", "cluster", current.Namespace, "work", current.Name)
	return nil
}

// waiting counts what waits for the end of a pause: copies that are not wanted any more,
// a request, and a ManifestWork that would be made or changed.
func (wr *writer) waiting(w policy.Inputs, c copies, plan request.Plan) (n int, err error) {
	for _, old := range [][]manifestcache.Cached{c.elsewhere, c.former} {
		for i := range old {
			if old[i].DeletionTimestamp == nil {
				n++
			}
		}
	}
	n += len(c.surplus)
	if c.current == nil {
		return n + 1, nil
	}
	another := plan.Step != request.StepSend && plan.Step != request.StepHold || plan.Replaced
	if another {
		n++
		plan.Request = request.Request{}
	}
	changed, err := wr.wouldChange(w, c.current, plan.Request, another)
	if changed {
		n++
	}
	return n, err
}

// wouldChange reports whether a delivery with a request would write the current work; when
// another request waits only what else is in the work is compared.
func (wr *writer) wouldChange(w policy.Inputs, current *manifestcache.Cached, q request.Request, another bool) (bool, error) {
	want, err := payload.ManifestWork(wr.payloadInputs(w, current, q))
	if err != nil {
		return false, fmt.Errorf("build ManifestWork for Application %s: %w", client.ObjectKeyFromObject(w.Application), err)
	}
	bindToUID(w.Application, current, want)
	if mark := current.Annotations[contract.PausedAnnotation]; mark != "" {
		want.Annotations[contract.PausedAnnotation] = mark
		if err := payload.WithoutAutomation(&want.Spec); err != nil {
			return false, err
		}
	}
	hashes, err := payload.HashesOf(&want.Spec, q)
	if err != nil {
		return false, err
	}
	hashes = payload.KeepRefresh(current, want, hashes)
	same := wr.lastApplied.same(current, hashes.Spec)
	if another {
		return !same && hashes.Base != payload.CachedBase(current), nil
	}
	payload.MarkGeneration(current, want, !same, hashes.Base)
	payload.MarkStored(current, want, hashes.Spec, same, !same)
	patch, err := payload.Patch(current, want, !same)
	return patch != nil, err
}
