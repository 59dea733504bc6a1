// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Examples returns the path of a file or folder of the examples.
func Examples(name string) string { return filepath.Join(testkit.Root(), "deploy", "examples", name) }

// PrepareCluster applies the examples for a managed cluster with an Argo CD without cluster-wide
// permissions, and the setting that the examples require.
func PrepareCluster(ctx context.Context, c *env.Cluster) error {
	if err := c.ApplyFiles(ctx, Examples("managed"), Examples("namespaced-argocd")); err != nil {
		return err
	}
	return c.Apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": argocd.ConfigMapName, "namespace": env.ArgoCDNamespace},
		"data": map[string]any{"resource.respectRBAC": "strict"},
	}})
}

// Prepare applies the examples except the ApplicationSet. It waits until the Placement has selected the
// clusters and each cluster has a cluster Secret. The ApplicationSet controller would retry an earlier
// ApplicationSet only after three minutes.
func Prepare(ctx context.Context, fleet *env.Fleet) (err error) {
	defer must.Return(&err)
	for _, c := range fleet.Managed {
		must.OK(PrepareCluster(ctx, c))
	}
	must.OK(fleet.Hub.ApplyFiles(ctx, Examples(hub)))
	if fleet.GitOpsClusters() {
		must.OK(fleet.Hub.ApplyFiles(ctx, Examples("gitopscluster/v1beta1.yaml")))
	}
	return env.Wait(ctx, "the placement to decide, and Argo CD to know every cluster", func(ctx context.Context) (bool, string) {
		var secrets corev1.SecretList
		decided, err := decisions(ctx, fleet)
		err = errors.Join(err, fleet.Hub.Client.List(ctx, &secrets, client.InNamespace(env.ArgoCDNamespace), client.MatchingLabels{argocd.SecretTypeLabel: argocd.SecretTypeCluster}))
		return err == nil && decided >= len(fleet.Managed) && len(secrets.Items) >= len(fleet.Managed),
			fmt.Sprintf("%d decisions and %d cluster Secrets for %d clusters, %v", decided, len(secrets.Items), len(fleet.Managed), err)
	})
}

// decisions returns the number of clusters that the fleet's Placements have selected.
func decisions(ctx context.Context, fleet *env.Fleet) (decided int, err error) {
	var list clusterv1beta1.PlacementDecisionList
	err = fleet.Hub.Client.List(ctx, &list, client.InNamespace(env.ArgoCDNamespace))
	for i := range list.Items {
		decided += len(list.Items[i].Status.Decisions)
	}
	return decided, err
}

// Deliver applies the unchanged examples. It waits until the guestbook is synced and healthy on
// every managed cluster, on the hub and in the report.
func (s *Scenario) Deliver(ctx context.Context) (err error) {
	defer must.Return(&err)
	must.OK(Prepare(ctx, s.fleet))
	began := time.Now()
	must.OK(s.fleet.Hub.ApplyFiles(ctx, Examples("guestbook-app-set.yaml")))
	return s.measure(ctx, "from the ApplicationSet to the report", began, s.watch.deliveryStages)
}

func (w watch) deliveryStages(cluster string) []mark {
	name := application(cluster)
	return []mark{
		{"a hub Application is generated", func() (bool, string) {
			_, ok := w.view.Application(hub, name)
			return ok, "no Application " + name + " on the hub"
		}},
		{"its ManifestWork is written", func() (bool, string) { return w.workOf(name, cluster) }},
		{"the Application is on the managed cluster", func() (bool, string) {
			_, ok := w.view.Application(cluster, name)
			return ok, w.view.everywhere(name, cluster)
		}},
		{"synced and healthy there", w.syncedAndHealthy(cluster, name, "")},
		{"the hub Application shows it", w.syncedAndHealthy(hub, name, "")},
		{"the report shows it", w.reported(name, "")},
	}
}

// workOf reports whether a ManifestWork for a hub Application is in a cluster's namespace.
func (w watch) workOf(name, cluster string) (bool, string) {
	for _, work := range w.view.Works() {
		if work.Namespace == cluster && work.Annotations[contract.HubNameAnnotation] == name {
			return true, ""
		}
	}
	a, _ := w.view.Application(hub, name)
	return false, "no ManifestWork in the namespace " + cluster + " for " + a.String()
}

// Show prints the report.
func (s *Scenario) Show(context.Context) error {
	report := s.watch.view.Report(s.watch.set)
	if report == nil {
		return errNoReport
	}
	shown := report.DeepCopy()
	shown.ManagedFields = nil
	text, err := yaml.Marshal(shown)
	if err != nil {
		return err
	}
	s.log(string(text))
	return nil
}
