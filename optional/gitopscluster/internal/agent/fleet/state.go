// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// State returns the same state as [Fleet.Ensure]. It reads caches only and writes nothing. addOn and
// work are the cluster's objects with our label, or nil.
func (f *Fleet) State(ctx context.Context, w agent.Desired, addOn *addonv1alpha1.ManagedClusterAddOn, work *workv1.ManifestWork) (agent.State, error) {
	taken, err := f.managed(ctx)
	if err == nil && taken == "" && addOn == nil {
		taken, err = foreignAddOn(ctx, f.clusters, w.Cluster)
	}
	if err != nil || taken != "" {
		return blocked(agent.ReasonAddOnNameTaken, taken), err
	}
	cluster := &clusterv1.ManagedCluster{}
	if err := f.clusters.Get(ctx, types.NamespacedName{Name: w.Cluster}, cluster, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		cluster = nil
	} else if err != nil {
		return agent.State{}, err
	}
	if reason, problem, err := f.configure(ctx, &w, cluster, addOn); err != nil || problem != "" {
		return blocked(reason, problem), err
	}
	if last := agent.Reported(addOn); work == nil && last.Reason == agent.ReasonAddOnNameTaken {
		return last, nil // caches do not have another client's work
	}
	if len(w.Manifests) > 0 {
		if _, err := agent.Work(w, ""); errors.Is(err, agent.ErrBadManifests) {
			return blocked(agent.ReasonBadManifests, err.Error()), nil
		}
	}
	return agent.StateOf(w, agent.Existing{Cluster: status.ClusterOf(w.Cluster, cluster), AddOn: addOn, Work: work}, f.now())
}

// foreignAddOn returns a message if another client has created the add-on of a cluster. from has to be
// the manager's cache, because that cache also has add-ons without our label.
func foreignAddOn(ctx context.Context, from client.Reader, cluster string) (string, error) {
	a := &addonv1alpha1.ManagedClusterAddOn{}
	err := from.Get(ctx, types.NamespacedName{Namespace: cluster, Name: agent.AddOnName}, a)
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return foreign(a), nil
}
