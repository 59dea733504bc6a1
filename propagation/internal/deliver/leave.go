// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/workindex"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// leaving withdraws a deleted Application and lets it go once no managed cluster
// has it any more.
func (r *Reconciler) leaving(ctx context.Context, app *argocd.Application, works []workv1.ManifestWork) (ctrl.Result, error) {
	if !ours(app) && len(works) == 0 {
		return ctrl.Result{}, nil
	}
	if err := r.withdraw(ctx, works, ReasonDeleting); err != nil {
		return ctrl.Result{}, err
	}
	kept := slices.DeleteFunc(slices.Clone(app.Finalizers), isArgoFinalizer)
	if len(kept) == len(app.Finalizers) {
		return ctrl.Result{}, nil // nothing of Argo CD's holds it
	}
	remaining, err := r.remaining(ctx, app, works)
	if err != nil {
		return ctrl.Result{}, err
	}
	abandon, _ := wire.IsTrue(app.Annotations[wire.AbandonAnnotation])
	if len(remaining) > 0 && !abandon {
		return ctrl.Result{}, r.say(ctx, app, verdict{Mild: true, Refusal: finding{ReasonDeleting, fmt.Sprintf(
			"deletion waits for %s to prove that nothing of it is left; for a cluster that will not come back set annotation %s to \"true\"",
			strings.Join(remaining, ", "), wire.AbandonAnnotation)}})
	}
	if len(remaining) > 0 {
		r.warn(app, finding{"Abandoned", fmt.Sprintf("released before the prune was proven; the Application and its resources may be left on %s", strings.Join(remaining, ", "))})
	}
	return ctrl.Result{}, r.release(ctx, app, kept)
}

// ours reports whether nobody but us can let a deleted Application go: it is pulled,
// or it names a cluster and keeps the hub's own Argo CD off.
func ours(app *argocd.Application) bool {
	pulled, _ := wire.IsTrue(app.Labels[wire.PullLabel])
	return pulled || app.Annotations[wire.ClusterAnnotation] != "" && app.Annotations[argocd.SkipReconcileAnnotation] == "true"
}

// remaining names the works that still stand for something on a managed cluster.
func (r *Reconciler) remaining(ctx context.Context, app *argocd.Application, works []workv1.ManifestWork) ([]string, error) {
	var names []string
	gone := map[string]bool{}
	for i := range works {
		cluster := works[i].Namespace
		if _, known := gone[cluster]; !known {
			c, err := getCluster(ctx, r.live, cluster)
			if err != nil {
				return nil, err
			}
			gone[cluster] = c == nil || c.DeletionTimestamp != nil
		}
		if !gone[cluster] {
			names = append(names, fmt.Sprintf("cluster %q (ManifestWork %s)", cluster, works[i].Name))
		}
	}
	if len(works) > 0 {
		return names, nil
	}
	// The cache knows of none, which proves nothing about the last second.
	return r.unseen(ctx, app)
}

// unseen names works that exist although the cache has not seen them.
func (r *Reconciler) unseen(ctx context.Context, app *argocd.Application) ([]string, error) {
	cluster := app.Annotations[wire.ClusterAnnotation]
	if cluster == "" {
		return nil, nil
	}
	var found []string
	for _, name := range names(app) {
		work := &workv1.ManifestWork{}
		if err := r.live.Get(ctx, client.ObjectKey{Namespace: cluster, Name: name}, work); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("get ManifestWork %s/%s: %w", cluster, name, err)
			}
			continue
		}
		if owner, ours := workindex.ApplicationOf(work); ours && owner == client.ObjectKeyFromObject(app) {
			found = append(found, fmt.Sprintf("cluster %q (ManifestWork %s)", cluster, name))
		}
	}
	return found, nil
}

// release removes Argo CD's finalizers, and only those.
func (r *Reconciler) release(ctx context.Context, app *argocd.Application, kept []string) error {
	if kept == nil {
		kept = []string{}
	}
	patch, err := encode("finalizer patch", map[string]any{"metadata": map[string]any{
		"resourceVersion": app.ResourceVersion, "finalizers": kept,
	}})
	if err != nil {
		return err
	}
	if err := r.client.Patch(ctx, app.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release Application %s/%s: %w", app.Namespace, app.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("released Application", "cluster", app.Annotations[wire.ClusterAnnotation])
	return nil
}

// isArgoFinalizer reports whether Argo CD of the managed cluster, not the hub's,
// does what a finalizer asks for.
func isArgoFinalizer(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == argocd.ResourcesFinalizer || base == "post-delete-finalizer.argocd.argoproj.io"
}
