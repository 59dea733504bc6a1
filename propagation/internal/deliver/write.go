// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// writer writes ManifestWorks.
type writer struct {
	// client writes, and reads from the cache. live reads from the API server.
	client  client.Client
	live    client.Reader
	options Options
	now     func() time.Time
	tracker *tracker
}

// create creates a work under the first name that no other work has. The error is an
// [existingWorkError] if the Application's own work has that name.
func (wr *writer) create(ctx context.Context, app *argocd.Application, want *workv1.ManifestWork) (string, error) {
	for _, name := range payload.WorkNames(app) {
		want.Name = name
		if !payload.ProvenByName(app, name) {
			want.Annotations[contract.HubUIDAnnotation] = string(app.UID)
		}
		written := want.DeepCopy()
		err := wr.client.Create(ctx, written)
		if err == nil {
			wr.tracker.wrote(client.ObjectKeyFromObject(app), "create", wr.now())
			ctrl.LoggerFrom(ctx).V(1).Info("created ManifestWork", "cluster", written.Namespace, "work", written.Name)
			return name, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("create ManifestWork %s/%s: %w", want.Namespace, name, err)
		}
		existing, err := readObject(ctx, wr.live, client.ObjectKeyFromObject(want), &workv1.ManifestWork{})
		if err != nil {
			return "", err
		}
		if existing == nil {
			return "", apierrors.NewConflict(workv1.Resource("manifestworks"), name, nil) // deleted in between
		}
		delivers := payload.DeliveredBy(&existing.Spec)
		if owner, ours := manifestcache.ApplicationOf(existing); ours && owner == client.ObjectKeyFromObject(app) {
			if delivers.Name != "" && delivers != payload.DeliveredName(app) {
				continue // a former work, removed once this work is applied
			}
			return "", apierrors.NewConflict(workv1.Resource("manifestworks"), name, nil) // the cache is behind
		}
		if delivers == payload.DeliveredName(app) {
			return "", &existingWorkError{appcache.Compact(existing)}
		}
	}
	return "", fmt.Errorf("create ManifestWork for Application %s/%s: all its names are taken on cluster %s", app.Namespace, app.Name, want.Namespace)
}

// nameTaken warns about a work that cannot have its usual name.
func (wr *writer) nameTaken(ctx context.Context, app *argocd.Application, cluster, name string) ([]policy.Message, error) {
	own := payload.WorkNames(app)
	if slices.Index(own, name) <= 0 {
		return nil, nil // it has the name, or keeps an earlier name
	}
	existing, err := readObject(ctx, wr.live, client.ObjectKey{Namespace: cluster, Name: own[0]}, &workv1.ManifestWork{})
	if err != nil || existing == nil {
		return nil, err
	}
	if owner, ours := manifestcache.ApplicationOf(existing); ours && owner == client.ObjectKeyFromObject(app) {
		return nil, nil // its own work from before a move within the cluster, which is being removed
	}
	return []policy.Message{{Reason: policy.ReasonNameTaken, Text: fmt.Sprintf(
		"delivered as ManifestWork %s/%s, since another ManifestWork has the name %s; nothing needs to be done, and a deletion of that one removes what it delivers", cluster, name, own[0])}}, nil
}

// applyWork updates the work on the hub to the desired one. It writes nothing if they are equal, or
// while the managed cluster is running the request in the work.
func (wr *writer) applyWork(ctx context.Context, app *argocd.Application, current *manifestcache.Work, want *workv1.ManifestWork, p request.Plan) (applyResult, error) {
	if current == nil {
		name, err := wr.create(ctx, app, want)
		return applyResult{name: name}, err
	}
	result := applyResult{name: current.Name}
	c, err := payload.Compare(current, want, p.Request)
	if err != nil {
		return result, err
	}
	same := current.Stored.Hash == c.Spec
	withSpec := !same || payload.Polls(current)
	if p.Step == request.StepHold && withSpec {
		if withSpec, c, result.warnings, err = wr.hold(ctx, current, want, p, c); err != nil {
			return result, err
		}
	}
	key := client.ObjectKeyFromObject(app)
	patch, err := payload.Patch(current, want, withSpec, c.Base)
	if err != nil {
		return result, err
	}
	if patch == nil {
		wr.tracker.unchanged(key, current, wr.now())
		return result, nil
	}
	written, err := wr.patchWork(ctx, current, patch)
	if err != nil {
		return result, err
	}
	wr.tracker.wrote(key, "update", wr.now())
	ctrl.LoggerFrom(ctx).V(1).Info("updated ManifestWork", "cluster", written.Namespace, "work", written.Name, "generation", written.Generation)
	if withSpec && !same && written.Generation == current.Generation {
		err = wr.noteStoredSpec(ctx, current, written, c.Spec)
	}
	return result, err
}

// noteStoredSpec records on a work that writing its spec has changed nothing.
func (wr *writer) noteStoredSpec(ctx context.Context, current *manifestcache.Work, now *metav1.PartialObjectMetadata, hash string) error {
	patch, err := payload.StoredSpecPatch(current, now, hash)
	if err != nil {
		return err
	}
	_, err = wr.patchWork(ctx, current, patch)
	return err
}

// patchWork sends a patch for current and returns the new metadata. The error is a conflict if
// current is out of date.
func (wr *writer) patchWork(ctx context.Context, current *manifestcache.Work, patch json.RawMessage) (*metav1.PartialObjectMetadata, error) {
	written := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: current.Namespace, Name: current.Name}}
	written.SetGroupVersionKind(appcache.WorkKind)
	err := wr.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch))
	if err == nil {
		return written, nil
	}
	switch {
	case apierrors.IsNotFound(err): // deleted since then
		err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
	case apierrors.IsInvalid(err):
		// The patch may have failed only because a map or key in it does not exist any more.
		now := &workv1.ManifestWork{}
		if live := wr.live.Get(ctx, client.ObjectKeyFromObject(current), now); live == nil && now.ResourceVersion != current.ResourceVersion {
			err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
		}
	}
	return nil, fmt.Errorf("patch ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
}

// release removes the finalizers of Argo CD, and no others.
func (wr *writer) release(ctx context.Context, app *argocd.Application, kept []string) error {
	if kept == nil {
		kept = []string{}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": app.ResourceVersion, "finalizers": kept,
	}})
	if err != nil {
		return fmt.Errorf("encode finalizer patch: %w", err)
	}
	if err := wr.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("released a deleted Application", "cluster", app.Annotations[contract.ClusterAnnotation])
	return nil
}

// writeEnding writes the ending into a work.
func (wr *writer) writeEnding(ctx context.Context, live *workv1.ManifestWork, spec *workv1.ManifestWorkSpec, e payload.Ending) error {
	patch, err := payload.EndPatch(live, spec, e)
	if err != nil {
		return err
	}
	if _, err := wr.patchWork(ctx, appcache.Compact(live), patch); err != nil {
		return err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("wrote into a ManifestWork how it ends", "cluster", live.Namespace, "work", live.Name, "orphan", e.Orphan, "finalizers", e.Finalizers, "reduced", e.Reduced)
	return nil
}

func (wr *writer) deleteWork(ctx context.Context, work *manifestcache.Work, reason string, leaves bool) error {
	err := wr.client.Delete(ctx, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}}, client.Preconditions{UID: &work.UID, ResourceVersion: &work.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	worksWithdrawn.WithLabelValues(reason).Inc()
	ctrl.LoggerFrom(ctx).Info("withdrew ManifestWork", "cluster", work.Namespace, "work", work.Name, "reason", reason, "stays", leaves)
	return nil
}

// hold changes want so that the managed cluster keeps what it is running: only the AppProjects in
// the stored spec change. It returns whether they change, and which changes wait.
func (wr *writer) hold(ctx context.Context, current *manifestcache.Work, want *workv1.ManifestWork, p request.Plan, c payload.Hashes) (bool, payload.Hashes, []policy.Message, error) {
	waits := func(what string) []policy.Message {
		return []policy.Message{{Reason: policy.ReasonRequestWaiting, Text: fmt.Sprintf(
			"%s until cluster %q has finished %s: wait for it, or terminate the operation", what, current.Namespace, p.Request.ID)}}
	}
	var waiting []policy.Message
	if p.Replaced {
		waiting = waits("the new operation or refresh waits")
	}
	if payload.CachedBase(current) == c.Base {
		return false, c, waiting, nil // only the request differs, and it is replaced later
	}
	stored, err := storedWork(ctx, wr.live, current)
	if err != nil {
		return false, c, waiting, err
	}
	changed, err := payload.TakeProjects(&stored.Spec, &want.Spec)
	if err != nil {
		return false, c, waiting, err
	}
	kept, err := payload.HashesOf(&stored.Spec, p.Request)
	if err != nil {
		return false, c, waiting, err
	}
	if kept.Base != c.Base {
		waiting = waits("changes wait")
	}
	if !changed || current.Stored.Hash == kept.Spec {
		return false, c, waiting, nil
	}
	want.Spec = stored.Spec
	payload.KeepApplicationSpec(current, want)
	return true, kept, waiting, nil
}

// updateProject updates the AppProject that the Application in a work names.
func (wr *writer) updateProject(ctx context.Context, work *manifestcache.Work) error {
	project, err := readProject(ctx, wr.client, wr.options.ArgoCDNamespace, work.Stored.Project)
	if err != nil || project == nil { // the managed cluster keeps an AppProject that is gone
		return err
	}
	stored, err := storedWork(ctx, wr.live, work)
	if err != nil {
		return err
	}
	changed, err := payload.UpdateProject(&stored.Spec, work.Namespace, wr.options.InstanceLabel, project)
	if err != nil || !changed {
		return err
	}
	patch, err := payload.SpecPatch(stored)
	if err != nil {
		return err
	}
	if _, err = wr.patchWork(ctx, work, patch); err != nil {
		return err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info("updated the AppProject in a ManifestWork that is left as it is otherwise", "cluster", work.Namespace, "work", work.Name)
	return nil
}

// pauseSync removes the automation from the stored work. The managed cluster's Argo CD still
// compares and reports, but does not sync by itself. With over, the request in the work is
// finished, and the write must not apply it again.
func (wr *writer) pauseSync(ctx context.Context, current *manifestcache.Work, over bool) error {
	return wr.setAutomation(ctx, current, over, "paused syncs", payload.WithoutAutomation)
}

// resumeSync restores the automation that [writer.pauseSync] removed. The rest of the work stays
// unchanged.
func (wr *writer) resumeSync(ctx context.Context, current *manifestcache.Work, over bool) error {
	return wr.setAutomation(ctx, current, over, "resumed syncs", func(spec *workv1.ManifestWorkSpec) (string, error) {
		return "", payload.WithAutomation(spec, current.Annotations[contract.PausedAnnotation])
	})
}

// setAutomation changes the automation in the stored work. set returns the mark of the work.
func (wr *writer) setAutomation(ctx context.Context, current *manifestcache.Work, over bool, what string, set func(*workv1.ManifestWorkSpec) (string, error)) error {
	stored, err := storedWork(ctx, wr.live, current)
	if err != nil {
		return err
	}
	mark, err := set(&stored.Spec)
	if err == nil && over {
		err = payload.WithoutRequest(&stored.Spec)
	}
	if err != nil {
		return fmt.Errorf("change the automation in ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
	}
	patch, err := payload.PausePatch(current, &stored.Spec, mark)
	if err != nil {
		return err
	}
	if _, err := wr.patchWork(ctx, current, patch); err != nil {
		return err
	}
	worksWritten.WithLabelValues("update").Inc()
	ctrl.LoggerFrom(ctx).Info(what, "cluster", current.Namespace, "work", current.Name)
	return nil
}

// existingWorkError reports that the Application's own work exists and the cache does not have it.
// The work has lost its pull label, or its annotations were changed.
type existingWorkError struct{ work *manifestcache.Work }

func (e *existingWorkError) Error() string {
	return fmt.Sprintf("ManifestWork %s/%s exists and is not in the cache", e.work.Namespace, e.work.Name)
}

// applyResult is the result of writing a work.
type applyResult struct {
	name     string
	warnings []policy.Message
}
