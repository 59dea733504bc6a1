// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// interval is how long changes are gathered; the real service takes 5 to 10 s.
const interval = 100 * time.Millisecond

var (
	applicationKind    = schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
	applicationSetKind = schema.GroupKind{Group: "argoproj.io", Kind: "ApplicationSet"}
	managedClusterKind = schema.GroupKind{Group: "cluster.open-cluster-management.io", Kind: "ManagedCluster"}

	// workloadKinds are collected whether an Application lists them or not;
	// they hang on what Applications list by their owners.
	workloadKinds = []schema.GroupKind{
		{Group: "apps", Kind: "Deployment"},
		{Group: "apps", Kind: "ReplicaSet"},
		{Kind: "Pod"},
	}
)

// Live collects from real clusters.
type Live struct {
	// Hub holds the managed clusters, Applications and ApplicationSets; nil
	// leaves them out.
	Hub *rest.Config
	// Clusters are the managed clusters by name.
	Clusters map[string]*rest.Config
	// Log gets what a cluster is missing.
	Log logr.Logger
}

// Run fills the table until ctx ends.
func (l Live) Run(ctx context.Context, into *table.Table) error {
	group, ctx := errgroup.WithContext(ctx)
	for name, config := range l.Clusters {
		group.Go(func() error { return l.follow(ctx, config, into, name, l.managed(name)) })
	}
	if l.Hub == nil {
		rows := make([]table.Row, 0, len(l.Clusters))
		for name := range l.Clusters {
			rows = append(rows, clusterRow(name))
		}
		into.Put(sorted(rows)...)
	} else {
		group.Go(func() error { return l.follow(ctx, l.Hub, into, localCluster, hub) })
	}
	return group.Wait()
}

// build makes the rows and edges of a cluster of what is watched there.
type build func(context.Context, *watched) ([]table.Row, []table.Edge)

// follow keeps a part of the table current.
func (l Live) follow(ctx context.Context, config *rest.Config, into *table.Table, part string, build build) error {
	w, err := newWatched(config)
	if err != nil {
		return fmt.Errorf("watch %s: %w", part, err)
	}
	defer w.stop()
	gather := time.NewTicker(interval)
	defer gather.Stop()
	w.touch()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
		}
		w.unknown = false
		rows, edges := build(ctx, w)
		into.Replace(part, sorted(rows), edges)
		if w.unknown {
			// Look again: a kind may be defined later.
			time.AfterFunc(rediscovery, w.touch)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-gather.C:
		}
	}
}

// managed builds what the collector of a managed cluster sends.
func (l Live) managed(cluster string) build {
	return func(ctx context.Context, w *watched) ([]table.Row, []table.Edge) {
		b := builder{cluster: cluster, byUID: map[string]bool{}}
		applications := w.kind(ctx, applicationKind)
		for _, application := range applications.objects() {
			b.application(ctx, w, applications.plural, application)
		}
		for _, gk := range workloadKinds {
			w.kind(ctx, gk)
		}
		for gk, kind := range w.kinds {
			if gk != applicationKind {
				for _, object := range kind.objects() {
					b.add(objectRow(cluster, kind.plural, object), object)
				}
			}
		}
		return b.rows, b.ownedEdges()
	}
}

// hub builds what the hub's own collector sends, and the nodes of the clusters.
func hub(ctx context.Context, w *watched) ([]table.Row, []table.Edge) {
	b := builder{cluster: localCluster, byUID: map[string]bool{}}
	for _, gk := range []schema.GroupKind{applicationSetKind, applicationKind} {
		kind := w.kind(ctx, gk)
		for _, object := range kind.objects() {
			row := objectRow(localCluster, kind.plural, object)
			row.Data["_hubClusterResource"] = "true"
			b.add(row, object)
		}
	}
	b.rows = append(b.rows, clusterRow(localCluster))
	for _, object := range w.kind(ctx, managedClusterKind).objects() {
		b.rows = append(b.rows, clusterRow(object.GetName()))
	}
	return b.rows, b.ownedEdges()
}

// builder gathers the rows and edges of one cluster.
type builder struct {
	cluster string
	rows    []table.Row
	edges   []table.Edge
	owned   []table.Edge
	byUID   map[string]bool
}

// add adds a row once.
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

// application adds an Application, related to what it lists and the cluster has.
func (b *builder) application(ctx context.Context, w *watched, plural string, application *unstructured.Unstructured) {
	row := objectRow(b.cluster, plural, application)
	var missing []resource
	for _, listed := range resources(application) {
		kind := w.kind(ctx, schema.GroupKind{Group: listed.Group, Kind: listed.Kind})
		object, known := kind.find(listed.Namespace, listed.Name)
		switch {
		case object != nil:
			b.edges = append(b.edges, table.Edge{From: row.UID, To: uid(b.cluster, object)})
		case known:
			missing = append(missing, listed)
		}
	}
	addMissing(row, missing)
	b.add(row, application)
}

// ownedEdges returns all edges, those to an owner that is in the table too.
func (b *builder) ownedEdges() []table.Edge {
	for _, edge := range b.owned {
		if b.byUID[edge.To] {
			b.edges = append(b.edges, edge)
		}
	}
	return b.edges
}

// sorted puts rows into an order that does not depend on the watch.
func sorted(rows []table.Row) []table.Row {
	slices.SortFunc(rows, func(a, b table.Row) int { return cmp.Compare(a.UID, b.UID) })
	return rows
}
