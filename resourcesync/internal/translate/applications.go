// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Application is a pulled Application according to search, with its owner.
type Application struct {
	// Set is the ApplicationSet on the hub.
	Set intermediate.Key
	// Namespace and Name are the Application's on the managed cluster.
	Namespace, Name string
	// Resources are the resources that it deploys or misses, sorted and without duplicates.
	Resources []intermediate.Resource
	// Conditions are its errors and warnings, sorted by type.
	Conditions []intermediate.Condition
	// LacksResources is true if no object on the cluster belongs to it, although its status does
	// not report that anything is missing or unknown.
	LacksResources bool
	// Held are the Resources that answers leave out without proof of their deletion, in the same
	// order.
	Held []intermediate.HeldResource
	// LeftOut counts the resources that did not fit (see [Limit]).
	LeftOut int
	// AbsentSince is when answers began to leave the whole Application out without proof of its
	// deletion, or zero.
	AbsentSince time.Time

	uid string // only while an answer is processed
}

// Compare orders Applications of one cluster.
func (a *Application) Compare(b *Application) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Set.Namespace, b.Set.Namespace), cmp.Compare(a.Set.Name, b.Set.Name),
	)
}

// Clusters returns the Applications in an answer by cluster, sorted. Rows that the hub wrote about
// itself are left out. odd names the rows that were left out because they break the promises of
// search.
func Clusters(r *search.Result) (apps map[string][]Application, odd []string) {
	objects := owned(r.Related)
	apps = map[string][]Application{}
	for i := range r.Items {
		it := &r.Items[i]
		if it.OnHub || it.Hosting == "" {
			continue // not pulled: the hub's own, or without an ApplicationSet
		}
		set, ok := hosting(it.Hosting)
		if !ok || it.Cluster == "" || it.Namespace == "" || it.Name == "" {
			odd = append(odd, fmt.Sprintf("Application %s/%s on %s of %s", it.Namespace, it.Name, it.Cluster, it.Hosting))
			continue
		}
		missing, err := missingResources(it.Missing)
		if err != nil {
			odd = append(odd, fmt.Sprintf("_missingResources of Application %s/%s on %s: %v", it.Namespace, it.Name, it.Cluster, err))
		}
		mine := objects[it.UID]
		apps[it.Cluster] = append(apps[it.Cluster], Application{
			Set: set, Namespace: it.Namespace, Name: it.Name,
			Resources:      resources(mine, missing),
			Conditions:     conditions(it.Conditions),
			LacksResources: len(mine) == 0 && !explained(it),
			uid:            it.UID,
		})
	}
	for cluster, list := range apps {
		// A re-created Application may have two rows for a while. The row with more resources
		// counts. Among equal rows, the same row always counts.
		slices.SortFunc(list, func(a, b Application) int {
			return cmp.Or(a.Compare(&b), cmp.Compare(len(b.Resources), len(a.Resources)), cmp.Compare(a.uid, b.uid))
		})
		list = slices.CompactFunc(list, func(a, b Application) bool { return a.Compare(&b) == 0 })
		for i := range list {
			list[i].uid = ""
		}
		apps[cluster] = list
	}
	return apps, odd
}

// owned gathers the objects of each Application by the Application's UID. An object that several
// list belongs to each of them. It belongs only to Applications on the same cluster, whatever a
// cluster's collector claims.
func owned(related []search.Item) map[string][]*search.Item {
	out := map[string][]*search.Item{}
	for i := range related {
		it := &related[i]
		if it.IsCluster() {
			continue
		}
		for _, uid := range it.RelatedUIDs {
			if strings.HasPrefix(uid, it.Cluster+"/") && strings.HasPrefix(it.UID, it.Cluster+"/") {
				out[uid] = append(out[uid], it)
			}
		}
	}
	return out
}

// hosting splits "ApplicationSet/<namespace>/<name>".
func hosting(s string) (intermediate.Key, bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || parts[0] != "ApplicationSet" || parts[1] == "" || parts[2] == "" {
		return intermediate.Key{}, false
	}
	return intermediate.Key{Namespace: parts[1], Name: parts[2]}, true
}

// explained reports whether an Application without any object may be correct: its status reports
// missing resources, or that they are unknown.
func explained(it *search.Item) bool {
	if it.Missing != "" || it.Health == "Missing" || it.Sync == "Unknown" || it.Sync == "" {
		return true
	}
	for _, c := range it.Conditions {
		if strings.HasSuffix(c.Type, "Error") {
			return true
		}
	}
	return false
}
