// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// An ApplicationSet with every field of a schema that is newer than our types gets a report like any other.
func TestReport_acceptsEveryFieldOfAnApplicationSet(t *testing.T) {
	const destination = "reported"
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: destination}})
	create(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: destination}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	appset := filled(t, "applicationset-crd.yaml", argocd.ApplicationSetKind, "spec")
	create(t, appset)
	appset.Object["status"] = filled(t, "applicationset-crd.yaml", argocd.ApplicationSetKind, "status").Object["status"]
	sent := fields(appset.Object["status"])
	if err := hub.Client.Status().Update(t.Context(), appset); err != nil {
		t.Fatal(err)
	}
	if kept := fields(appset.Object["status"]); kept != sent {
		t.Fatalf("the API server kept %d values of the status of %d", kept, sent)
	}
	t.Logf("spec: %d values, status: %d", fields(appset.Object["spec"]), sent)

	project := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
	}}}
	project.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.AppProjectKind))
	project.SetNamespace(env.ArgoCDNamespace)
	project.SetName("generated")
	create(t, project)
	create(t, generated(appset, destination))
	report := &v1alpha1.MulticlusterApplicationSetReport{}
	env.Await(t, "the report", func(ctx context.Context) (bool, string) {
		err := hub.Client.Get(ctx, client.ObjectKeyFromObject(appset), report)
		rows := report.Statuses.ClusterConditions
		return err == nil && len(rows) == 1 && rows[0].Cluster == destination, fmt.Sprintf("%v %+v", err, rows)
	})
}

// generated returns an Application like the ApplicationSet controller's.
func generated(appset *unstructured.Unstructured, destination string) *argocd.Application {
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: env.ArgoCDNamespace, Name: "generated",
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: destination, argocd.SkipReconcileAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(appset, argocd.GroupVersion.WithKind(argocd.ApplicationSetKind)),
			},
		},
		Spec: []byte(`{"project":"generated","source":{"repoURL":"https://git.example.com/apps.git","path":"."},` +
			`"destination":{"server":"` + argocd.InClusterServer + `","namespace":"default"}}`),
	}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	return a
}
