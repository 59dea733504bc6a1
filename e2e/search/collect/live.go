// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collect fills a search table from watches of real clusters, as the collectors of search
// v2 do.
package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// interval is how long changes are collected. The real service takes 5 to 10 s.
const interval = 500 * time.Millisecond

var (
	applicationKind    = schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
	applicationSetKind = schema.GroupKind{Group: "argoproj.io", Kind: "ApplicationSet"}
	managedClusterKind = schema.GroupKind{Group: "cluster.open-cluster-management.io", Kind: "ManagedCluster"}

	// workloadKinds are collected even if no Application lists them. Their owners relate them to the
	// resources that Applications list.
	workloadKinds = []schema.GroupKind{
		{Group: "apps", Kind: "Deployment"},
		{Group: "apps", Kind: "ReplicaSet"},
		{Kind: "Pod"},
	}
)

// Live collects from real clusters.
type Live struct {
	// Hub is the configuration of the hub, with the managed clusters, Applications and ApplicationSets.
	Hub *rest.Config
	// Clusters are the configurations of the managed clusters, by name.
	Clusters map[string]*rest.Config
}

// Run fills the table until ctx ends.
func (l Live) Run(ctx context.Context, into *table.Table) error {
	group, ctx := errgroup.WithContext(ctx)
	for name, config := range l.Clusters {
		group.Go(func() error { return follow(ctx, config, into, name, managed) })
	}
	group.Go(func() error { return follow(ctx, l.Hub, into, localCluster, hub) })
	return group.Wait()
}

// follow keeps one part of the table current. build creates the part from the watched objects of a cluster.
func follow(ctx context.Context, config *rest.Config, into *table.Table, cluster string, build func(context.Context, *watched, *builder)) error {
	w, err := newWatched(config)
	if err != nil {
		return fmt.Errorf("watch %s: %w", cluster, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return w.cache.Start(ctx) })
	group.Go(func() error {
		for again := w.cache.WaitForCacheSync(ctx); again; again = clock.Sleep(ctx, interval) {
			b := &builder{cluster: cluster, byUID: map[string]bool{}}
			if build(ctx, w, b); ctx.Err() == nil {
				into.Replace(cluster, sorted(b.rows), b.ownedEdges())
			}
		}
		return nil
	})
	return group.Wait()
}

// managed builds the rows and edges that the collector of a managed cluster sends.
func managed(ctx context.Context, w *watched, b *builder) {
	plural, applications := w.kind(ctx, applicationKind)
	for i := range applications {
		b.application(ctx, w, plural, &applications[i])
	}
	for _, gk := range workloadKinds {
		w.known[gk] = true
	}
	for gk := range w.known {
		if gk != applicationKind {
			plural, objects := w.kind(ctx, gk)
			for i := range objects {
				b.add(objectRow(b.cluster, plural, &objects[i]), &objects[i])
			}
		}
	}
}

// hub builds the rows that the hub's own collector sends, and the nodes of the clusters.
func hub(ctx context.Context, w *watched, b *builder) {
	for _, gk := range []schema.GroupKind{applicationSetKind, applicationKind} {
		plural, objects := w.kind(ctx, gk)
		for i := range objects {
			row := objectRow(localCluster, plural, &objects[i])
			row.Data["_hubClusterResource"] = "true"
			b.add(row, &objects[i])
		}
	}
	b.rows = append(b.rows, clusterRow(localCluster))
	_, clusters := w.kind(ctx, managedClusterKind)
	for i := range clusters {
		b.rows = append(b.rows, clusterRow(clusters[i].GetName()))
	}
}

// builder collects the rows and edges of one cluster.
type builder struct {
	cluster string
	rows    []table.Row
	edges   []table.Edge
	owned   []table.Edge
	byUID   map[string]bool
}

// add adds a row, unless it has been added before.
func (b *builder) add(row table.Row, object *unstructured.Unstructured) {
	if b.byUID[row.UID] {
		return
	}
	b.byUID[row.UID] = true
	b.rows = append(b.rows, row)
	for _, owner := range object.GetOwnerReferences() {
		b.owned = append(b.owned, table.Edge{From: row.UID, To: b.cluster + "/" + string(owner.UID)})
	}
}

// application adds an Application, with relations to the listed resources that exist in the cluster.
func (b *builder) application(ctx context.Context, w *watched, plural string, application *unstructured.Unstructured) {
	row := objectRow(b.cluster, plural, application)
	var missing []resource
	for _, listed := range resources(application) {
		if object := w.find(ctx, listed); object != nil {
			b.edges = append(b.edges, table.Edge{From: row.UID, To: uid(b.cluster, object)})
		} else {
			missing = append(missing, listed)
		}
	}
	addMissing(row, missing)
	b.add(row, application)
}

// ownedEdges returns all edges, including those to an owner in the table.
func (b *builder) ownedEdges() []table.Edge {
	for _, edge := range b.owned {
		if b.byUID[edge.To] {
			b.edges = append(b.edges, edge)
		}
	}
	return b.edges
}

// sorted sorts rows, so that their order does not depend on the watch.
func sorted(rows []table.Row) []table.Row {
	slices.SortFunc(rows, func(a, b table.Row) int { return cmp.Compare(a.UID, b.UID) })
	return rows
}

// localCluster is the name of the hub.
const localCluster = "local-cluster"

// clusterRow returns the node of a cluster.
func clusterRow(name string) table.Row {
	return table.Row{UID: table.ClusterUID(name), Cluster: name, Data: map[string]any{
		"name":        name,
		"kind":        "Cluster",
		"kind_plural": "managedclusterinfos",
		"apigroup":    "internal.open-cluster-management.io",
		// The nodes of managed clusters have the hub's mark too.
		"_hubClusterResource": "true",
		"addon":               map[string]any{"search-collector": "true"},
	}}
}
