// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/rollout/internal/step"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// gatherer reads from the cache what a step rests on.
type gatherer struct {
	client client.Client
	// cache is where ApplicationSets are read: the client reads what has no Go type from the
	// API server.
	cache client.Reader
	index *manifestcache.Index
}

// problem is why a rollout cannot work.
type problem struct{ reason, message string }

// clusters returns the clusters of an ApplicationSet with their Applications.
func (g *gatherer) clusters(ctx context.Context, r *rollout.ApplicationSetRollout) (map[string]step.Cluster, *problem, error) {
	var list argocd.ApplicationList
	if err := g.client.List(ctx, &list, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list Applications in %s: %w", r.Namespace, err)
	}
	found := map[string]step.Cluster{}
	var first *argocd.Application
	n, several := 0, false
	for i := range list.Items {
		app := &list.Items[i]
		name := app.Annotations[contract.ClusterAnnotation]
		if app.OwningApplicationSet() != r.Spec.ApplicationSet || name == "" || !contract.IsPulled(app.Labels) || app.DeletionTimestamp != nil ||
			app.Annotations[contract.ManagementPolicyAnnotation] == contract.ManagementObserve {
			continue // nothing is delivered to it
		}
		if first == nil || !bytes.Equal(app.Spec, first.Spec) { // the cache keeps of it the sources
			sources, list, err := rollout.Sources(app.Spec)
			switch {
			case err != nil:
				return nil, &problem{"InvalidApplication", fmt.Sprintf("Application %s: %v", app.Name, err)}, nil
			case first != nil:
				return nil, &problem{"SourcesDiffer", fmt.Sprintf(
					"Applications %s and %s have different repositories, charts or target revisions, and what one runs cannot be promoted to the other: give them the same, or make an ApplicationSet for each",
					first.Name, app.Name)}, nil
			}
			first, n, several = app, len(sources), list
		}
		c, err := g.cluster(ctx, found, name)
		if err != nil {
			return nil, nil, err
		}
		works, err := g.index.Of(client.ObjectKeyFromObject(app))
		if err != nil {
			return nil, nil, err
		}
		c.Apps = append(c.Apps, appOf(app, name, works, c.Available, n, several))
		found[name] = c
	}
	return found, nil, nil
}

// cluster returns the entry of a cluster.
func (g *gatherer) cluster(ctx context.Context, found map[string]step.Cluster, name string) (step.Cluster, error) {
	if c, there := found[name]; there {
		return c, nil
	}
	cluster := &clusterv1.ManagedCluster{}
	err := g.client.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return step.Cluster{}, fmt.Errorf("get ManagedCluster %s: %w", name, err)
	}
	return step.Cluster{Available: err == nil && cluster.DeletionTimestamp == nil && status.ClusterOf(name, cluster).Available}, nil
}

// appOf returns what is known of an Application from the work that delivers it to its cluster.
func appOf(app *argocd.Application, cluster string, works []*manifestcache.Work, available bool, sources int, several bool) step.App {
	a := step.App{Name: app.Name, Want: app.Annotations[contract.RolloutAnnotation]}
	i := slices.IndexFunc(works, func(w *manifestcache.Work) bool { return w.Namespace == cluster && w.DeletionTimestamp == nil })
	if i < 0 {
		return a
	}
	w := works[i]
	o := w.Observe(status.Cluster{Name: cluster, Exists: true, Available: available})
	a.HasWork, a.Carried = true, rollout.ParseCarried(w.Annotations[contract.RolloutAnnotation])
	a.Applied = available && o.Reason != status.ChangePending
	a.Known, a.Refused = o.Reported && o.Reason == "", o.Reason == status.ApplyFailed
	a.Health, a.Sync, a.Phase, a.Began = o.Health, o.Sync, o.Operation.Phase, o.Operation.StartedAt
	a.Compared = w.Feedback(contract.FeedbackReconciledAt)
	a.Message = message(&o)
	if several {
		a.Revisions = make([]string, sources) // empty where one is not reported
		copy(a.Revisions, o.Revisions)
		a.OperationRevisions = o.OperationRevisions
		return a
	}
	a.Revisions, a.OperationRevisions = one(o.Revision), one(o.OperationRevision)
	return a
}

// one returns a list of what is known.
func one(revision string) []string {
	if revision == "" {
		return nil
	}
	return []string{revision}
}

func message(o *status.Observation) string {
	failed := ""
	if o.Operation.Phase != argocd.OperationSucceeded {
		failed = o.Operation.Message
	}
	text := cmp.Or(o.Message, failed, o.HealthMessage)
	if len(o.Conditions) > 0 {
		text = cmp.Or(text, o.Conditions[0].Message)
	}
	if len(text) > 256 {
		text = strings.ToValidUTF8(text[:256], "") + "…"
	}
	return text
}

// groups returns the decision groups of the Placement in order.
func (g *gatherer) groups(ctx context.Context, r *rollout.ApplicationSetRollout) ([]step.Group, error) {
	if r.Spec.Placement == "" {
		return nil, nil
	}
	var list clusterv1beta1.PlacementDecisionList
	err := g.client.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: r.Spec.Placement}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list PlacementDecisions of %s/%s: %w", r.Namespace, r.Spec.Placement, err)
	}
	byIndex := map[int]*step.Group{}
	var order []int
	for i := range list.Items {
		d := &list.Items[i]
		index, err := strconv.Atoi(d.Labels[clusterv1beta1.DecisionGroupIndexLabel])
		if err != nil {
			index = 0
		}
		group := byIndex[index]
		if group == nil {
			group = &step.Group{Name: d.Labels[clusterv1beta1.DecisionGroupNameLabel]}
			byIndex[index], order = group, append(order, index)
		}
		for _, decision := range d.Status.Decisions {
			group.Clusters = append(group.Clusters, decision.ClusterName)
		}
	}
	slices.Sort(order)
	groups := make([]step.Group, len(order))
	for i, index := range order {
		groups[i] = *byIndex[index]
	}
	return groups, nil
}

// word returns the numbers of the candidates that an operator approves and aborts, 0 for none.
func word(value string) (approved, aborted int64, err error) {
	fields := strings.Fields(value)
	if len(fields) == 0 {
		return 0, 0, nil
	}
	if len(fields) == 2 {
		number, wrong := strconv.ParseInt(fields[1], 10, 64)
		switch {
		case wrong != nil || number < 1:
		case fields[0] == "approve":
			return number, 0, nil
		case fields[0] == "abort":
			return 0, number, nil
		}
	}
	return 0, 0, fmt.Errorf("annotation %s is %.60q: want \"approve\" or \"abort\" and the number of the candidate", rollout.WordAnnotation, value)
}
