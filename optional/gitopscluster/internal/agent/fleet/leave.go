// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"time"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Leave removes the agent from a managed cluster, one step at each call. Each step waits for the
// proof of the previous step. The first step deletes the work, and with it the agent and its
// rights. The second step deletes the add-on. The third step deletes the key of the client
// certificate. Applications and their workloads stay. Until it is done, waitingFor describes the
// wait. With abandoned, a cluster that is unavailable or not accepted any more is released without
// proof. A cluster that is deleted is always released.
func (f *Fleet) Leave(ctx context.Context, cluster string, abandoned bool) (done bool, waitingFor string, err error) {
	managed, err := f.cluster(ctx, cluster)
	if err != nil {
		return false, "", err
	}
	if Lost(cluster, managed, abandoned) {
		return f.abandon(ctx, cluster)
	}
	l := Leaving{Name: cluster, Cluster: managed, Abandoned: abandoned}
	if l.Work, err = own(ctx, f, cluster, agent.WorkName, &workv1.ManifestWork{}); err != nil {
		return false, "", err
	}
	if l.Work == nil {
		if l.AddOn, err = own(ctx, f, cluster, agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{}); err != nil {
			return false, "", err
		}
		if l.LeavingWork, err = own(ctx, f, cluster, agent.LeavingWorkName, &workv1.ManifestWork{}); err != nil {
			return false, "", err
		}
	}
	waitingFor = l.WaitsFor()
	return waitingFor == "", waitingFor, f.step(ctx, l)
}

// step performs the next step. It creates the work that checks for the key before it deletes the
// add-on. Otherwise nothing would show after a restart that a proof is missing.
func (f *Fleet) step(ctx context.Context, l Leaving) error {
	switch {
	case l.Work != nil:
		return f.delete(ctx, l.Work)
	case l.AddOn != nil && l.LeavingWork == nil:
		want, err := agent.LeavingWork(l.AddOn)
		if err != nil {
			return err
		}
		if err := f.client.Create(ctx, want, client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("create ManifestWork %s/%s: %w", want.Namespace, want.Name, err)
		}
	case l.AddOn != nil:
		ctrl.LoggerFrom(ctx).Info("removing the add-on of argocd-agent", "cluster", l.AddOn.Namespace)
		return f.delete(ctx, l.AddOn)
	case l.LeavingWork != nil && agent.KeyGone(l.LeavingWork):
		return f.delete(ctx, l.LeavingWork)
	}
	return nil
}

// Lost reports whether a cluster is released without a proof that its agent was removed. cluster is nil
// if the ManagedCluster does not exist.
func Lost(name string, cluster *clusterv1.ManagedCluster, abandoned bool) bool {
	state := status.ClusterOf(name, cluster)
	return !state.Exists || abandoned && (!state.Available || !cluster.Spec.HubAcceptsClient)
}

// Leaving has the objects that the hub still has for an agent that is being removed from its cluster.
type Leaving struct {
	Name string
	// Cluster is nil if the ManagedCluster does not exist.
	Cluster           *clusterv1.ManagedCluster
	Abandoned         bool
	Work, LeavingWork *workv1.ManifestWork
	AddOn             *addonv1alpha1.ManagedClusterAddOn
}

// WaitsFor returns a message about the wait of the next step. The message is empty if nothing is
// left.
func (l Leaving) WaitsFor() string {
	cluster := status.ClusterOf(l.Name, l.Cluster)
	var what string
	switch {
	case l.Work != nil:
		what = "its work agent to remove argocd-agent (ManifestWork " + agent.WorkName + ")"
	case l.AddOn == nil && l.LeavingWork == nil:
		return ""
	case l.AddOn == nil && (!l.LeavingWork.DeletionTimestamp.IsZero() || agent.KeyGone(l.LeavingWork)):
		what = "its work agent to release ManifestWork " + agent.LeavingWorkName
	default:
		what = "its registration agent to remove Secret " + agent.ClientSecretName + "; if that one has restarted meanwhile, delete the Secret on the cluster"
	}
	waitingFor := waiting(what, cluster)
	if l.Abandoned && cluster.Available {
		waitingFor += "; annotation deletion-policy: abandon counts once Open Cluster Management reports the cluster as unavailable, up to five minutes after it went silent"
	}
	return waitingFor
}

func waiting(what string, cluster status.Cluster) string {
	if cluster.Available {
		return "managed cluster " + cluster.Name + ": waiting for " + what
	}
	since := ""
	if !cluster.Since.IsZero() {
		since = " since " + cluster.Since.UTC().Format(time.RFC3339)
	}
	return "managed cluster " + cluster.Name + " is not available" + since + ": waiting for " + what
}

// everything returns the objects that the hub has for an agent, in the order of their deletion.
func everything() []client.Object {
	work, addOn, leaving := &workv1.ManifestWork{}, &addonv1alpha1.ManagedClusterAddOn{}, &workv1.ManifestWork{}
	work.Name, addOn.Name, leaving.Name = agent.WorkName, agent.AddOnName, agent.LeavingWorkName
	return []client.Object{work, addOn, leaving}
}

// abandon deletes everything at once and waits for nothing: nothing reports any more.
func (f *Fleet) abandon(ctx context.Context, cluster string) (bool, string, error) {
	for _, o := range everything() {
		found, err := own(ctx, f, cluster, o.GetName(), o)
		if err != nil {
			return false, "", err
		}
		if found != nil {
			if err := f.delete(ctx, found); err != nil {
				return false, "", err
			}
		}
	}
	return true, "", nil
}

// delete deletes an object unless that is done already.
func (f *Fleet) delete(ctx context.Context, o client.Object) error {
	if !o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := o.GetUID()
	if err := f.client.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s/%s: %w", kind(o), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// own returns our object of a name, or nil if it does not exist.
func own[T client.Object](ctx context.Context, f *Fleet, cluster, name string, o T) (T, error) {
	var none T
	found, err := findLive(ctx, f, cluster, name, o)
	if err != nil || client.Object(found) == client.Object(none) || !agent.IsOurs(found) {
		return none, err
	}
	return found, nil
}

// Gone reports whether the hub has no object for the agent of a cluster, or only objects that are being
// deleted. It reads the API server.
func (f *Fleet) Gone(ctx context.Context, cluster string) (bool, error) {
	for _, o := range everything() {
		if found, err := own(ctx, f, cluster, o.GetName(), o); err != nil || found != nil && found.GetDeletionTimestamp().IsZero() {
			return false, err
		}
	}
	return true, nil
}
