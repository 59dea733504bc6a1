// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// plan returns what would be written for a GitOpsCluster that holds clusters.
func (r *Reconciler) plan(ctx context.Context, h hubReader, o *v1beta1.GitOpsCluster, f found, holds map[string]bool) ([]v1beta1.PlannedWrite, error) {
	clusters, err := h.clusters(ctx, f)
	if err != nil {
		return nil, err
	}
	others := func(cluster string) []string { return r.roster.others(key(o), f.intent.ArgoNamespace, cluster) }
	return f.plan(o, holds, r.options.InstanceLabel, h.everyIn, clusters, r.agents, others)
}

// clusters returns the ManagedClusters that something may be done about.
func (h hubReader) clusters(ctx context.Context, f found) (map[string]*clusterv1.ManagedCluster, error) {
	all := map[string]*clusterv1.ManagedCluster{}
	for name, cluster := range f.selected {
		all[name] = cluster
	}
	for name := range f.held {
		if all[name] != nil {
			continue
		}
		cluster := &clusterv1.ManagedCluster{}
		err := h.Get(ctx, client.ObjectKey{Name: name}, cluster)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
		}
		all[name] = cluster
	}
	return all, nil
}

func comparePlanned(a, b v1beta1.PlannedWrite) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
}

// Preview returns what gitopscluster with these options would write for a GitOpsCluster
// that need not be on the hub, and what it would say of it. It only reads.
func Preview(ctx context.Context, reader client.Reader, o *v1beta1.GitOpsCluster, options Options) (v1beta1.GitOpsClusterStatus, error) {
	options = options.withDefaults()
	in := intent.Of(o, options.settings())
	in.DryRun = true
	h := hubReader{Reader: trimmed{reader}, everyIn: options.everyIn()}
	f, err := h.look(ctx, o, in)
	if err != nil {
		return v1beta1.GitOpsClusterStatus{}, err
	}
	r := &Reconciler{options: options, roster: NewRoster(""), agents: none{}, since: map[types.NamespacedName]map[string]time.Time{}}
	holds, decision := r.holds(key(o), f, time.Now())
	if options.Agents != nil && in.Refusal == nil {
		if r.agents, err = previewAgents(ctx, reader, askOf(o, in, holds), options); err != nil {
			return v1beta1.GitOpsClusterStatus{}, err
		}
	}
	clusters, err := h.clusters(ctx, f)
	if err != nil {
		return v1beta1.GitOpsClusterStatus{}, err
	}
	own := key(o).String()
	others := func(cluster string) (names []string) { // as their Secrets say
		if f.secrets[cluster] == nil {
			return nil
		}
		for _, name := range clustersecret.Holders(f.secrets[cluster]) {
			if name != own {
				names = append(names, name)
			}
		}
		return names
	}
	facts := f.facts(o, func(string) string { return "" })
	facts.Decision, facts.Clusters.Leaving = decision, len(decision.Leaving)
	if in.Refusal == nil {
		r.addAgents(key(o), f, &facts)
		plan, err := f.plan(o, holds, options.InstanceLabel, h.everyIn, clusters, r.agents, others)
		if err != nil {
			return v1beta1.GitOpsClusterStatus{}, err
		}
		facts.Plan = append(plan, facts.Plan...)
	}
	return facts.Status(&v1beta1.GitOpsClusterStatus{}, time.Now()), nil
}

// previewAgents returns what would be done about agents. Those of other GitOpsClusters
// stay theirs.
func previewAgents(ctx context.Context, reader client.Reader, ask agents.Ask, options Options) (Agents, error) {
	list := &v1beta1.GitOpsClusterList{}
	if err := (trimmed{reader}).List(ctx, list); err != nil {
		return nil, fmt.Errorf("list GitOpsClusters: %w", err)
	}
	others := map[types.NamespacedName]bool{}
	for i := range list.Items {
		if other := &list.Items[i]; intent.ArgoNamespace(other) == ask.ArgoNamespace && key(other) != ask.Owner {
			others[key(other)] = true
		}
	}
	o := *options.Agents
	o.Namespaces, o.Limit = options.Namespaces, options.RemovalLimit
	return agents.Preview(ctx, reader, ask, others, o)
}

// trimmed reads Secrets as the cache has them, without key material. A hub on which the
// CustomResourceDefinition is not there has no GitOpsClusters.
type trimmed struct{ client.Reader }

func (t trimmed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := t.Reader.List(ctx, list, opts...)
	if secrets, ok := list.(*corev1.SecretList); ok {
		for i := range secrets.Items {
			clustersecret.Trim(&secrets.Items[i])
		}
	}
	if _, ok := list.(*v1beta1.GitOpsClusterList); ok && meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// secretsOf reads Secrets from the API server, everything else from the cache.
type secretsOf struct {
	client.Reader
	live client.Reader
}

func (s secretsOf) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.SecretList); ok {
		return trimmed{s.live}.List(ctx, list, opts...)
	}
	return s.Reader.List(ctx, list, opts...)
}
