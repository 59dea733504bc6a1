// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// others is a source of rows of guestbook that have no ManifestWork in the index.
type others []*merge.Row

func (o others) Sets() []types.NamespacedName { return []types.NamespacedName{guestbook} }

func (o others) Rows(set types.NamespacedName) []*merge.Row {
	if set != guestbook {
		return nil
	}
	return o
}

func TestView_sortsRowsOfOtherSources(t *testing.T) {
	row := func(cluster string) *merge.Row {
		return merge.NewRow(merge.App{HubNamespace: "argocd", HubName: "other", Cluster: cluster, Work: "other", Health: "Missing", Sync: "Synced"}, merge.Search{})
	}
	x := New(func(types.NamespacedName) {}, others{row("a"), row("c")})
	expect(t, "without works", rows(x, guestbook), []string{"a: Missing Synced", "c: Missing Synced"})
	expect(t, "known without works", x.Sets(), []types.NamespacedName{guestbook})
	x.SetCluster(available("b"))
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", shows("Healthy", "Synced"))))
	expect(t, "sorted among those of works", rows(x, guestbook), []string{"a: Missing Synced", "b: Healthy Synced", "c: Missing Synced"})
	expect(t, "known once", x.Sets(), []types.NamespacedName{guestbook})
	expect(t, "each look is the same", rows(x, guestbook), []string{"a: Missing Synced", "b: Healthy Synced", "c: Missing Synced"})
	expect(t, "in their own report only", rows(x, types.NamespacedName{Namespace: "argocd", Name: "else"}), []string(nil))
}
