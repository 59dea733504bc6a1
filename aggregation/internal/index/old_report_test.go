// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

func TestSetSearch_addsResourcesAndConditions(t *testing.T) {
	x, published := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))))
	x.SetWork(compact(t, manifestWork(guestbook, "b", "app", shows("Degraded", "OutOfSync"))))
	x.SetCluster(available("b"))
	published()
	report := &intermediate.Report{Namespace: "argocd", Name: "guestbook", Applications: []intermediate.Application{{
		Cluster: "a", Namespace: "argocd", Name: "app",
		Resources:  []intermediate.Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}, {APIVersion: "v1", Kind: "Pod", Name: "ui-1"}},
		Conditions: []intermediate.Condition{{Type: "NewKindOfError", Message: "no"}},
	}, {
		Cluster: "b", Namespace: "argocd", Name: "app",
		Resources: []intermediate.Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "ui"}},
	}}}
	x.SetSearch(report)
	expect(t, "search is published", published(), map[types.NamespacedName]int{guestbook: 1})
	expect(t, "an error that search knows is in the row", rows(x, guestbook), []string{"a: Degraded OutOfSync NewKindOfError", "b: Degraded OutOfSync"})
	expect(t, "resources are the union over all clusters", x.View(guestbook).Resources.Refs(), []v1alpha1.ResourceRef{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "ui"}, {APIVersion: "v1", Kind: "Service", Name: "ui"},
	})
	x.SetSearch(report)
	expect(t, "the same report again is not published", published(), map[types.NamespacedName]int{})
	x.SetSearch(&intermediate.Report{Namespace: "argocd", Name: "guestbook"})
	expect(t, "a good report that says there is nothing is believed", rows(x, guestbook), []string{"a: Degraded OutOfSync", "b: Degraded OutOfSync"})
	expect(t, "also about resources", len(x.View(guestbook).Resources.Refs()), 0)
}

// A new leader may have no intermediate report in its pod. It then takes search's content from the old
// report.
func TestRemember_fillsInForMissingSearch(t *testing.T) {
	old := &v1alpha1.AppSetStatuses{
		Resources: []v1alpha1.ResourceRef{{APIVersion: "v1", Kind: "Service", Name: "ui"}},
		ClusterConditions: []v1alpha1.ClusterCondition{{
			Cluster: "a", App: "argocd/app/a/app-abcde", HealthStatus: "Degraded", SyncStatus: "OutOfSync", SyncRevision: "53e28ff2",
			OperationStatePhase: "Succeeded", OperationStateStartedAt: "2026-11-20T10:00:00Z",
			Conditions: []v1alpha1.Condition{{Type: "ClusterUnreachable", Message: "old"}, {Type: "NewKindOfError", Message: "n"}, {Type: "SyncError", Message: "s"}},
		}},
	}
	x, _ := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))))
	x.Remember(guestbook, old)
	expect(t, "what only search tells is kept while nothing else changed; what feedback tells, feedback tells", rows(x, guestbook), []string{"a: Degraded OutOfSync NewKindOfError"})
	expect(t, "resources are kept", x.View(guestbook).Resources.Refs(), old.Resources)

	gap := shows("Degraded", "OutOfSync")
	delete(gap, contract.FeedbackOperationPhase)
	y, _ := spied()
	y.SetCluster(available("a"))
	y.Remember(guestbook, old)
	y.SetWork(compact(t, manifestWork(guestbook, "a", "app", gap)))
	expect(t, "an operation that is missing just now is the one of the report", y.View(guestbook).Rows[0].OperationStatePhase, "Succeeded")

	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Progressing", "OutOfSync"))))
	expect(t, "new feedback is newer than an old report", rows(x, guestbook), []string{"a: Progressing OutOfSync"})
	x.SetSearch(&intermediate.Report{Namespace: "argocd", Name: "guestbook"})
	x.Remember(guestbook, old)
	expect(t, "and so is search", len(x.View(guestbook).Resources.Refs()), 0)
	x.DeleteSearch(guestbook)
	x.DeleteWork(types.NamespacedName{Namespace: "a", Name: "app-abcde"})
	expect(t, "nothing is left of an ApplicationSet that is gone", len(x.sets), 0)
}
