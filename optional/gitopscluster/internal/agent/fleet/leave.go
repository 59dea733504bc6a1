// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"time"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Leave removes the agent from a managed cluster, one step at each call. Each step waits for the
// proof of the one before: first the work is deleted, and with it the agent and its rights, then
// the add-on, then the key of the client certificate. Applications and what they deployed stay.
// Until it is done, waitingFor describes the wait. With abandoned, a cluster that is unavailable or
// not accepted any more is released without proof. A cluster that is deleted is always released.
func (f *Fleet) Leave(ctx context.Context, cluster string, abandoned bool) (done bool, waitingFor string, err error) {
	managed, err := f.cluster(ctx, cluster)
	if err != nil {
		return false, "", err
	}
	state := status.ClusterOf(cluster, managed)
	if !state.Exists || abandoned && (!state.Available || !managed.Spec.HubAcceptsClient) {
		return f.abandon(ctx, cluster)
	}
	if abandoned && state.Available {
		defer func() {
			if waitingFor != "" {
				waitingFor += "; annotation deletion-policy: abandon counts once Open Cluster Management reports the cluster as unavailable, up to five minutes after it went silent"
			}
		}()
	}
	work, err := own(ctx, f, cluster, agent.WorkName, &workv1.ManifestWork{})
	if err != nil {
		return false, "", err
	}
	if work != nil {
		return false, waiting("its work agent to remove argocd-agent (ManifestWork "+agent.WorkName+")", state), f.delete(ctx, work)
	}
	addOn, err := own(ctx, f, cluster, agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{})
	if err != nil {
		return false, "", err
	}
	look, err := own(ctx, f, cluster, agent.LeavingWorkName, &workv1.ManifestWork{})
	if err != nil {
		return false, "", err
	}
	return f.removeKey(ctx, state, addOn, look)
}

// removeKey continues after the agent is removed. It creates the work that checks for the key
// before it deletes the add-on. Otherwise nothing would show after a restart that a proof is
// missing.
func (f *Fleet) removeKey(ctx context.Context, cluster status.Cluster, addOn *addonv1alpha1.ManagedClusterAddOn, look *workv1.ManifestWork) (bool, string, error) {
	key := waiting("its registration agent to remove Secret "+agent.ClientSecretName+"; if that one has restarted meanwhile, delete the Secret on the cluster", cluster)
	switch {
	case addOn != nil && look == nil:
		want, err := agent.LeavingWork(addOn)
		if err != nil {
			return false, "", err
		}
		if err := f.client.Create(ctx, want, client.FieldOwner(fieldOwner)); err != nil {
			return false, "", fmt.Errorf("create ManifestWork %s/%s: %w", want.Namespace, want.Name, err)
		}
		return false, key, nil
	case addOn != nil:
		ctrl.LoggerFrom(ctx).Info("removing the add-on of argocd-agent", "cluster", cluster.Name)
		return false, key, f.delete(ctx, addOn)
	case look == nil:
		return true, "", nil
	case !look.DeletionTimestamp.IsZero():
		return false, waiting("its work agent to release ManifestWork "+agent.LeavingWorkName, cluster), nil
	case !agent.KeyGone(look):
		return false, key, nil
	}
	return false, waiting("its work agent to release ManifestWork "+agent.LeavingWorkName, cluster), f.delete(ctx, look)
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

// abandon deletes everything at once and waits for nothing: nothing reports any more.
func (f *Fleet) abandon(ctx context.Context, cluster string) (bool, string, error) {
	for _, step := range []struct {
		name string
		o    client.Object
	}{
		{agent.WorkName, &workv1.ManifestWork{}}, {agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{}}, {agent.LeavingWorkName, &workv1.ManifestWork{}},
	} {
		found, err := own(ctx, f, cluster, step.name, step.o)
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
