// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// lookups reads facts about clusters, bindings and AppProjects. It reads each one once for an
// Application.
type lookups struct {
	from     reader
	sources  *sources
	facts    *decide.Facts
	clusters map[string]decide.Cluster
	bindings map[string]bool
	projects map[string]*argocd.AppProject
}

// cluster returns the facts about a ManagedCluster.
func (p *lookups) cluster(ctx context.Context, name string) (decide.Cluster, error) {
	if c, known := p.clusters[name]; known {
		return c, nil
	}
	c := decide.Cluster{Name: name}
	cluster, err := readObject(ctx, p.from, types.NamespacedName{Name: name}, &clusterv1.ManagedCluster{})
	if err != nil {
		return c, err
	}
	c.State = status.ClusterOf(name, cluster)
	if cluster != nil {
		c.Exists, c.Leaving, c.Hub = true, cluster.DeletionTimestamp != nil, contract.IsHub(cluster.Name, cluster.Labels)
		c.Pause = policy.StrongestPause(
			policy.ParsePause(cluster.Annotations[contract.PausedAnnotation], pausedOn("ManagedCluster "+name), p.facts.Now),
			policy.ParsePause(appcache.PauseClaim(cluster), "ClusterClaim "+contract.PauseClaim+" of cluster "+name, p.facts.Now))
	}
	p.clusters[name] = c
	return c, nil
}

func pausedOn(object string) string {
	return "annotation " + contract.PausedAnnotation + " of " + object
}

// bound reports whether the Application's namespace may use a cluster.
func (p *lookups) bound(ctx context.Context, cluster string) (bool, error) {
	if p.sources.options.Binding == BindingNone {
		return true, nil
	}
	if len(validation.IsDNS1123Label(p.facts.Key.Namespace)) > 0 {
		return false, nil // no namespace has an invalid name
	}
	if bound, known := p.bindings[cluster]; known {
		return bound, nil
	}
	bound, err := p.from.Bound(ctx, p.facts.Key.Namespace, cluster)
	if err != nil {
		return false, err
	}
	p.bindings[cluster] = bound
	return bound, nil
}

// project returns the hub's AppProject of a name, or nil.
func (p *lookups) project(ctx context.Context, name string) (*argocd.AppProject, error) {
	if project, known := p.projects[name]; known || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return project, nil // no object has an invalid name
	}
	project, err := readProject(ctx, p.from, p.sources.options.ArgoCDNamespace, name)
	var invalid *policy.SettingError
	if errors.As(err, &invalid) {
		p.facts.ProjectProblem = invalid.Error() // an error would also delay a removal after a lost permission
		return project, nil                      // not kept, so that other facts get the problem as well
	}
	if err != nil {
		return nil, err
	}
	p.projects[name] = project
	return project, nil
}

// permission returns the permissions for a work on its cluster, for the namespace and project that
// it carries. A value in the work that cannot be read counts as permitted.
func (p *lookups) permission(ctx context.Context, work *manifestcache.Work) (may decide.Permission, err error) {
	place := decide.Place{Namespace: p.facts.Key.Namespace, ProjectName: work.Stored.Project}
	if place.Bound, err = p.bound(ctx, work.Namespace); err != nil {
		return may, err
	}
	if existing, ok := work.Delivers(); ok {
		place.Target = existing.Namespace
	}
	if place.ProjectName != "" && place.Namespace != p.facts.Settings.ArgoCDNamespace {
		if place.Project, err = p.project(ctx, place.ProjectName); err != nil {
			return may, err
		}
	}
	return p.facts.Settings.Permission(place), nil
}

// stale reports whether the AppProject in a work differs from the hub's, and its cluster may
// receive the hub's. The cluster may receive it if the AppProject admits the Application's
// namespace, and the work is proven to be of that namespace. The namespace of another Application
// on the cluster that names the AppProject counts, too. Without this rule an agent could get any
// AppProject: it can have a work name any Application and any AppProject, and each AppProject
// admits the Argo CD namespace.
func (p *lookups) stale(ctx context.Context, work *manifestcache.Work, proven bool) (bool, error) {
	if !p.facts.Settings.DeliverProject || work.Stored.ProjectHash == "" || work.DeletionTimestamp != nil {
		return false, nil
	}
	project, err := p.project(ctx, work.Stored.Project)
	if err != nil || project == nil || p.facts.ProjectProblem != "" || !payload.Outdated(work, project, p.facts.Settings.InstanceLabel) {
		return false, err
	}
	admits := func(namespace string) bool {
		return p.facts.Settings.Permission(decide.Place{Namespace: namespace, ProjectName: project.Name, Project: project, Target: namespace}).Project
	}
	if key := p.facts.Key.Namespace; proven && key != p.facts.Settings.ArgoCDNamespace && admits(key) {
		return true, nil
	}
	namespaces, err := p.sources.naming(ctx, work.Namespace, project.Name)
	return slices.ContainsFunc(namespaces, admits), err
}

// namespaceWords returns the annotations of a Namespace, or none without a name.
func (p *lookups) namespaceAnnotations(ctx context.Context, name string) (decide.Annotations, error) {
	if name == "" {
		return decide.Annotations{}, nil
	}
	w := decide.Annotations{On: "Namespace " + name}
	namespace, err := readObject(ctx, p.from, types.NamespacedName{Name: name}, appcache.NamespaceMetadata())
	if err != nil || namespace == nil {
		return w, err
	}
	p.read(&w, namespace.Annotations)
	return w, nil
}

// setWords returns the annotations of an ApplicationSet. It returns nil if the ApplicationSet was
// deleted and none of them remains.
func (p *lookups) setAnnotations(ctx context.Context, key types.NamespacedName) (*decide.Annotations, error) {
	w := &decide.Annotations{On: argocd.ApplicationSetKind + " " + key.String()}
	set, err := readObject(ctx, p.from, key, argocd.ApplicationSetMetadata())
	if err != nil {
		return nil, err
	}
	if set == nil {
		if w, err = p.sources.ledger.Outlives(key); err != nil {
			return nil, fmt.Errorf("read what %s %s has left: %w", argocd.ApplicationSetKind, key, err)
		}
		return w, nil
	}
	p.read(w, set.Annotations)
	w.Policy = policy.ParseDeletionPolicy(set.Annotations[contract.DeletionPolicyAnnotation], w.On, true)
	return w, nil
}

// read parses the annotations by which an object delays or approves removals. An invalid value
// holds them. It was reported when it was set.
func (p *lookups) read(w *decide.Annotations, annotations map[string]string) {
	w.Pause = policy.ParsePause(annotations[contract.PausedAnnotation], pausedOn(w.On), p.facts.Now)
	w.Override, _ = decide.ParseOverride(annotations[contract.DeletionBudgetAnnotation], w.On, p.facts.Now)
}
