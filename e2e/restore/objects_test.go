// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// kept is an Application without owner, on cluster1.
const kept = "kept"

// deployment returns the manifest of a Deployment, which every Application without owner deploys.
func deployment(name string) string {
	return strings.ReplaceAll(`apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {nodeName: `+env.NodeName+`, containers: [{name: c, image: "example.invalid/kept:v1"}]}
`, "NAME", name)
}

func createKept(t *testing.T) {
	t.Helper()
	if _, err := fleet.Git.Commit(t.Context(), "Keep", map[string]string{kept + "/deployment.yaml": deployment(kept)}); err != nil {
		t.Fatal(err)
	}
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: env.ArgoCDNamespace, Name: kept, Finalizers: []string{argocd.ResourcesFinalizer},
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(fmt.Sprintf(`{"project":"guestbook","source":{"repoURL":%q,"targetRevision":"main","path":"kept"},
			"destination":{"server":%q,"namespace":"guestbook"},"syncPolicy":{"automated":{"prune":true,"selfHeal":true}}}`, env.RepositoryURL, argocd.InClusterServer)),
	}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	if err := fleet.Hub.Client.Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// pulled returns the cluster of each pulled hub Application.
func pulled() map[string]string {
	all := map[string]string{kept: "cluster1"}
	for _, c := range fleet.Managed {
		all[c.Name+"-"+scenario.ApplicationSet] = c.Name
	}
	return all
}

// where returns the cluster of each hub Application.
func where() map[string]string {
	all := pulled()
	maps.Copy(all, rendered())
	return all
}

// awaitApplications waits until the hub has every Application.
func awaitApplications(t *testing.T) {
	t.Helper()
	env.Await(t, "the hub to have all Applications", func(ctx context.Context) (bool, string) {
		var list argocd.ApplicationList
		err := fleet.Hub.Client.List(ctx, &list, client.InNamespace(env.ArgoCDNamespace))
		names := []string{}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		slices.Sort(names)
		return err == nil && slices.Equal(names, slices.Sorted(maps.Keys(where()))), fmt.Sprint(names, err)
	})
}

// awaitReported waits until all Applications are delivered and the hub reports that: in the Applications, the
// report, the registered clusters with their agents, and the open view.
func awaitReported(t *testing.T) {
	t.Helper()
	for name, cluster := range where() {
		env.Await(t, "the hub to report "+name, func(ctx context.Context) (bool, string) { return reported(ctx, name, cluster) })
	}
	for _, set := range []string{scenario.ApplicationSet, renderedSet} {
		env.Await(t, "the report of ApplicationSet "+set, func(ctx context.Context) (bool, string) { return inReport(ctx, set) })
	}
	env.Await(t, "the clusters to be registered and to have agents", deployed)
	env.Await(t, "the view of "+kept, viewed)
}

func reported(ctx context.Context, name, cluster string) (bool, string) {
	a := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}}
	if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
		return false, err.Error()
	}
	var works workv1.ManifestWorkList
	if err := fleet.Hub.Client.List(ctx, &works, client.InNamespace(cluster)); err != nil {
		return false, err.Error()
	}
	applied := slices.ContainsFunc(works.Items, func(w workv1.ManifestWork) bool {
		of := cmp.Or(w.Annotations[contract.HubNameAnnotation], w.Annotations[contract.RenderedApplicationAnnotation])
		return of == name && meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied)
	})
	well := strings.Contains(string(a.Status), `"`+argocd.HealthHealthy+`"`) && strings.Contains(string(a.Status), `"`+argocd.SyncSynced+`"`)
	return applied && well, fmt.Sprintf("applied %t: %s", applied, a.Status)
}

// inReport reports whether the report of an ApplicationSet has a healthy row for each managed cluster.
func inReport(ctx context.Context, set string) (bool, string) {
	report := &v1alpha1.MulticlusterApplicationSetReport{}
	if err := fleet.Hub.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: set}, report); err != nil {
		return false, err.Error()
	}
	rows := report.Statuses.ClusterConditions
	well := len(rows) == len(fleet.Managed)
	for _, row := range rows {
		well = well && row.SyncStatus == argocd.SyncSynced && row.HealthStatus == argocd.HealthHealthy
	}
	return well, fmt.Sprint(rows)
}

// running returns the UIDs of the Applications, workloads and Deployments of agents on the managed clusters.
func running(t *testing.T) map[string]string {
	t.Helper()
	uids := map[string]string{}
	for _, c := range fleet.Managed {
		for kind, namespaces := range map[schema.GroupVersionKind][]string{
			argocd.GroupVersion.WithKind(argocd.ApplicationKind): {env.ArgoCDNamespace},
			// The pods of an agent are replaced with its certificate.
			{Group: "apps", Version: "v1", Kind: "Deployment"}: {env.ArgoCDNamespace, "guestbook"},
			{Group: "apps", Version: "v1", Kind: "ReplicaSet"}: {"guestbook"},
			{Version: "v1", Kind: "ConfigMap"}:                 {"guestbook"},
			{Version: "v1", Kind: "Pod"}:                       {"guestbook"},
			{Version: "v1", Kind: "Service"}:                   {"guestbook"},
		} {
			for _, namespace := range namespaces {
				list := &metav1.PartialObjectMetadataList{}
				list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
				if err := c.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
					t.Fatal(err)
				}
				for i := range list.Items {
					uids[c.Name+" "+kind.Kind+" "+list.Items[i].Name] = string(list.Items[i].UID)
				}
			}
		}
	}
	if len(uids) < 3*len(where()) {
		t.Fatalf("too little runs, the test proves nothing: %v", uids)
	}
	return uids
}

// operationsOf returns the operations in the status of the managed clusters' Applications. In rendered mode the
// operations are on the hub, which writes the ManifestWork again.
func operationsOf(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, cluster := range pulled() {
		a := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}}
		if err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil {
			t.Fatal(err)
		}
		var status struct {
			OperationState struct{ StartedAt, FinishedAt string }
			History        []struct {
				ID         int64
				DeployedAt string
			}
		}
		if err := json.Unmarshal(a.Status, &status); err != nil {
			t.Fatal(err)
		}
		if status.OperationState.FinishedAt == "" {
			t.Fatalf("no operation of %s has finished: %s", name, a.Status)
		}
		all[name] = fmt.Sprintf("%+v", status)
	}
	return all
}

// awaitEviction waits until the agents have observed which of their ManifestWorks the hub has lost. The page's
// deadline begins then. Argo CD may have written those of rendered mode again.
func awaitEviction(t *testing.T) {
	t.Helper()
	for _, c := range fleet.Managed {
		env.Await(t, c.Name+" to begin the grace period", func(ctx context.Context) (bool, string) {
			var applied workv1.AppliedManifestWorkList
			var works workv1.ManifestWorkList
			err := errors.Join(c.Client.List(ctx, &applied), fleet.Hub.Client.List(ctx, &works, client.InNamespace(c.Name)))
			lost, began := 0, 0
			for i := range applied.Items {
				if slices.ContainsFunc(works.Items, func(w workv1.ManifestWork) bool { return w.Name == applied.Items[i].Spec.ManifestWorkName }) {
					continue
				}
				lost++
				if applied.Items[i].Status.EvictionStartTime != nil {
					began++
				}
			}
			return err == nil && began > 0 && began == lost, fmt.Sprintf("%d of %d, %v", began, lost, err)
		})
	}
}

// forgetTheLostHub ends the grace period. Each agent then removes its records of ManifestWorks that the hub
// did not write again.
func forgetTheLostHub(t *testing.T) {
	t.Helper()
	for _, c := range fleet.Managed {
		if err := fleet.SwitchHub(t.Context(), c, fleet.Hub, "--appliedmanifestwork-eviction-grace-period=1s"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range fleet.Managed {
		env.Await(t, c.Name+" to have the ManifestWorks of the hub alone", func(ctx context.Context) (bool, string) {
			var works workv1.ManifestWorkList
			var applied workv1.AppliedManifestWorkList
			if err := fleet.Hub.Client.List(ctx, &works, client.InNamespace(c.Name)); err != nil {
				return false, err.Error()
			}
			if err := c.Client.List(ctx, &applied); err != nil {
				return false, err.Error()
			}
			want, got := []string{}, []string{}
			for i := range works.Items {
				want = append(want, works.Items[i].Name)
			}
			for i := range applied.Items {
				got = append(got, applied.Items[i].Spec.ManifestWorkName)
			}
			slices.Sort(want)
			slices.Sort(got)
			return slices.Equal(want, got), fmt.Sprintf("hub %q, cluster %q", want, got)
		})
	}
}
