// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// maxReceipt is how many works one receipt speaks of; an Event's note has 1 kB.
const maxReceipt = 3

// recordAbandoned leaves a receipt of what an Application that is let go may have left
// on clusters: on the Application, which is there no more, and in the log. It asks
// nobody. The works stay in deletion until their cluster returns and prunes, or is
// removed.
func (rep *reporter) recordAbandoned(ctx context.Context, app *argocd.Application, works []manifestcache.Cached) error {
	left := strings.Join(rep.contents(ctx, app), ", ")
	var lines []string
	for i := range works {
		work := &works[i]
		cluster, err := getCluster(ctx, rep.client, work.Namespace)
		if err != nil {
			return err
		}
		heard := "is available"
		if state := status.ClusterOf(work.Namespace, cluster); !state.Available {
			heard = "has not been available"
			if !state.Since.IsZero() {
				heard += " since " + state.Since.UTC().Format(time.RFC3339)
			}
		}
		lines = append(lines, fmt.Sprintf("cluster %q, which %s (ManifestWork %s)", work.Namespace, heard, work.Name))
		ctrl.LoggerFrom(ctx).Info("released an Application before its cluster confirmed the prune", "cluster", work.Namespace, "work", work.Name, "left", left, "state", heard)
	}
	if len(lines) == 0 {
		return nil
	}
	if more := len(lines) - maxReceipt; more > 0 {
		lines = append(lines[:maxReceipt], fmt.Sprintf("and %d more, see the log", more))
	}
	rep.recordWarning(app, policy.Message{Reason: "Abandoned", Text: fmt.Sprintf(
		"released before the cluster confirmed the prune: %s and what they deployed may be left on %s; its ManifestWork stays in deletion, so that a cluster that returns prunes them",
		left, strings.Join(lines, "; "))})
	return nil
}

// contents names what travels with an Application, as far as the cache tells.
func (rep *reporter) contents(ctx context.Context, app *argocd.Application) []string {
	there := payload.DeliveredName(app)
	left := []string{"Application " + there.String()}
	if rep.options.Namespace {
		left = append(left, "Namespace "+there.Namespace)
	}
	if !rep.options.Project || payload.ProjectName(app) == argocd.DefaultProject {
		return left
	}
	// One that cannot be read now may have travelled all the same.
	if project, err := rep.project(ctx, rep.client, app); err != nil || project != nil {
		left = append(left, "AppProject "+payload.ProjectNamespace(app, rep.options.ArgoCDNamespace)+"/"+payload.ProjectName(app))
	}
	return left
}
