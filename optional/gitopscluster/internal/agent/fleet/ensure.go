// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Ensure creates or updates the add-on and the work of one managed cluster, and returns the state
// of the agent. A State with a reason needs a person. The caller retries after an error.
func (f *Fleet) Ensure(ctx context.Context, w agent.Desired) (agent.State, error) {
	cluster, err := f.cluster(ctx, w.Cluster)
	if err != nil {
		return agent.State{}, err
	}
	existing := agent.Existing{Cluster: status.ClusterOf(w.Cluster, cluster)}
	taken, err := f.managed(ctx)
	if err != nil || taken != "" {
		return blocked(agent.ReasonAddOnNameTaken, taken), err
	}
	if existing.AddOn, taken, err = f.ensureAddOn(ctx, w); err != nil || taken != "" {
		return blocked(agent.ReasonAddOnNameTaken, taken), err
	}
	if reason, problem, err := f.configure(ctx, &w, cluster, existing.AddOn); err != nil || problem != "" {
		if err != nil {
			return agent.State{}, err
		}
		return f.report(ctx, existing.AddOn, blocked(reason, problem))
	}
	if existing.Work, taken, err = f.ensureWork(ctx, w, existing.AddOn); errors.Is(err, agent.ErrBadManifests) {
		return f.report(ctx, existing.AddOn, blocked(agent.ReasonBadManifests, err.Error()))
	}
	if err != nil {
		return agent.State{}, err
	}
	if taken != "" {
		return f.report(ctx, existing.AddOn, blocked(agent.ReasonAddOnNameTaken, taken))
	}
	state, err := agent.StateOf(w, existing, f.now())
	if err != nil {
		return agent.State{}, err
	}
	return f.report(ctx, existing.AddOn, state)
}

// blocked is the state of a cluster for which nothing more can be done.
func blocked(reason, message string) agent.State {
	return agent.State{Reason: reason, Message: contract.Message(message, &contract.Rejected{}), WaitingFor: agent.WaitsForWork}
}

// cluster returns a ManagedCluster, or nil.
func (f *Fleet) cluster(ctx context.Context, name string) (*clusterv1.ManagedCluster, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := f.clusters.Get(ctx, types.NamespacedName{Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
	}
	return cluster, nil
}

// find returns the object of a name in a cluster's namespace, whichever client created it. It reads
// the API server if the cache does not have the object, because the object may lack our label or be
// new.
func find[T client.Object](ctx context.Context, f *Fleet, cluster, name string, o T) (T, error) {
	err := f.objects.Get(ctx, types.NamespacedName{Namespace: cluster, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return findLive(ctx, f, cluster, name, o)
	}
	if err != nil {
		return o, fmt.Errorf("get %s %s/%s: %w", kind(o), cluster, name, err)
	}
	return o, nil
}

// findLive is find without the cache. It returns nil if the object does not exist.
func findLive[T client.Object](ctx context.Context, f *Fleet, cluster, name string, o T) (T, error) {
	var none T
	err := slim.Reader(f.client).Get(ctx, types.NamespacedName{Namespace: cluster, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("get %s %s/%s: %w", kind(o), cluster, name, err)
	}
	return o, nil
}

func kind(o client.Object) string {
	if _, work := o.(*workv1.ManifestWork); work {
		return "ManifestWork"
	}
	return "ManagedClusterAddOn"
}

// foreign returns a message if another client has created an object, or "".
func foreign(o client.Object) string {
	if agent.IsOurs(o) {
		return ""
	}
	return fmt.Sprintf("%s %s/%s was made by another client and is not changed; delete it if nothing else uses it", kind(o), o.GetNamespace(), o.GetName())
}
