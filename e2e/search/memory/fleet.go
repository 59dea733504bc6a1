// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory fills a search table with a fleet that exists only in memory, for tests without clusters and
// for measurements.
package memory

import (
	"context"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// Namespace is the namespace of a fleet's Applications, and of their ApplicationSets on the hub.
const Namespace = "argocd"

// created is the creation time of all objects.
const created = "2026-01-02T03:04:05Z"

// Fleet is a number of clusters with the same ApplicationSets on each. ClusterName returns the name of
// cluster i, and SetName the name of ApplicationSet i.
type Fleet struct {
	// Clusters is the number of managed clusters.
	Clusters int
	// Sets is the number of ApplicationSets, each with one Application on every cluster.
	Sets int
	// Resources is the number of resources of each Application.
	Resources int
}

// ClusterName returns the name of cluster i, from 0.
func ClusterName(i int) string { return fmt.Sprintf("cluster%04d", i) }

// SetName returns the name of ApplicationSet i, from 0.
func SetName(i int) string { return fmt.Sprintf("set%02d", i) }

// ApplicationUID returns the UID of the row of an ApplicationSet's Application on a cluster.
func ApplicationUID(cluster, set string) string { return cluster + "/app-" + set }

// Run fills the table and returns.
func (f Fleet) Run(_ context.Context, into *table.Table) error {
	for c := range f.Clusters {
		cluster := ClusterName(c)
		rows := make([]table.Row, 0, 1+f.Sets*(1+f.Resources))
		rows = append(rows, Cluster(cluster))
		edges := make([]table.Edge, 0, f.Sets*f.Resources)
		for s := range f.Sets {
			application := Application(cluster, SetName(s))
			rows = append(rows, application)
			for r := range f.Resources {
				resource := Resource(cluster, SetName(s), r)
				rows = append(rows, resource)
				edges = append(edges, table.Edge{From: application.UID, To: resource.UID})
			}
		}
		into.Put(rows...)
		into.Relate(edges...)
	}
	return nil
}

// Cluster returns the node of a cluster.
func Cluster(name string) table.Row {
	return table.Row{UID: table.ClusterUID(name), Cluster: name, Data: map[string]any{
		"name": name, "kind": "Cluster", "kind_plural": "managedclusterinfos",
		"apigroup": "internal.open-cluster-management.io", "created": created,
		"HubAcceptedManagedCluster": "True", "ManagedClusterJoined": "True", "ManagedClusterConditionAvailable": "True",
		"_hubClusterResource": "true", "nodes": 3,
		"label": map[string]any{"name": name, "vendor": "OpenShift"},
	}}
}

// Application returns a healthy Application of an ApplicationSet.
func Application(cluster, set string) table.Row {
	return table.Row{UID: ApplicationUID(cluster, set), Cluster: cluster, Data: map[string]any{
		"name": set + "-" + cluster, "namespace": Namespace, "kind": "Application", "kind_plural": "applications",
		"apigroup": "argoproj.io", "apiversion": "v1alpha1", "created": created, "applicationSet": "",
		"path": set, "chart": "", "repoURL": "https://git.example.com/apps.git", "targetRevision": "main",
		"destinationName": "", "destinationNamespace": set, "destinationServer": "https://kubernetes.default.svc",
		"healthStatus": "Healthy", "syncStatus": "Synced",
		"_hostingResource": "ApplicationSet/" + Namespace + "/" + set,
		"label":            map[string]any{"apps.open-cluster-management.io/application-set": "true"},
	}}
}

// kinds are the kinds of resources that Applications deploy in turn.
var kinds = []struct{ kind, plural, group string }{
	{"ConfigMap", "configmaps", ""}, {"Service", "services", ""}, {"Deployment", "deployments", "apps"},
}

// Resource returns the i-th resource of an ApplicationSet's Application.
func Resource(cluster, set string, i int) table.Row {
	kind := kinds[i%len(kinds)]
	name := fmt.Sprintf("%s-%d", set, i)
	data := map[string]any{
		"name": name, "namespace": set, "kind": kind.kind, "kind_plural": kind.plural, "apiversion": "v1", "created": created,
		"label": map[string]any{"app": set, "app.kubernetes.io/instance": set + "-" + cluster},
	}
	if kind.group != "" {
		data["apigroup"] = kind.group
		data["available"], data["current"], data["desired"], data["ready"] = 2, 2, 2, 2
	}
	return table.Row{UID: fmt.Sprintf("%s/%s", cluster, name), Cluster: cluster, Data: data}
}
