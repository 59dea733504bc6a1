// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// workload is the namespace of the guestbook on the clusters.
const workload = "guestbook"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func object(version, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func definition(plural string) *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", plural+".argoproj.io")
}

func controller() *unstructured.Unstructured {
	return object("apps/v1", "StatefulSet", env.ArgoCDNamespace, env.ArgoCDController)
}

func application(cluster string) *unstructured.Unstructured {
	return object("argoproj.io/v1alpha1", "Application", env.ArgoCDNamespace, cluster+"-guestbook")
}

// get reads an object that must exist.
func get(t *testing.T, c *env.Cluster, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	must(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	return o
}

// gone waits until an object does not exist.
func gone(t *testing.T, c *env.Cluster, o client.Object) {
	t.Helper()
	env.Await(t, fmt.Sprintf("the end of %T %s on %s", o, client.ObjectKeyFromObject(o), c.Name), func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		text, _ := json.Marshal(o)
		return apierrors.IsNotFound(err), string(text)
	})
}

func addOn(cluster string) *addonv1alpha1.ManagedClusterAddOn {
	return &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: scenario.ArgoCDAddOn}}
}

// want sets or removes the label of each cluster.
func want(t *testing.T, want bool, clusters ...*env.Cluster) {
	t.Helper()
	for _, c := range clusters {
		must(t, scenario.WantArgoCD(t.Context(), fleet.Hub, c.Name, want))
	}
}

// works returns the ManifestWorks of a cluster's add-on.
func works(ctx context.Context, cluster string) ([]workv1.ManifestWork, error) {
	var list workv1.ManifestWorkList
	err := fleet.Hub.Client.List(ctx, &list, client.InNamespace(cluster), client.MatchingLabels{addonv1alpha1.AddonLabelKey: scenario.ArgoCDAddOn})
	return list.Items, err
}

// installed reports whether a cluster's add-on has applied a template and is available.
func installed(a *addonv1alpha1.ManagedClusterAddOn, template string) bool {
	for _, reference := range a.Status.ConfigReferences {
		if reference.LastAppliedConfig == nil || reference.LastAppliedConfig.Name != template {
			return false
		}
	}
	progressing := meta.FindStatusCondition(a.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing)
	return len(a.Status.ConfigReferences) > 0 && progressing != nil && progressing.Reason == addonv1alpha1.ProgressingReasonCompleted &&
		meta.IsStatusConditionTrue(a.Status.Conditions, addonv1alpha1.ManagedClusterAddOnManifestApplied) &&
		meta.IsStatusConditionTrue(a.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
}

// awaitInstalled waits until each cluster has the Argo CD of a template and its controller is ready.
func awaitInstalled(t *testing.T, template string, clusters ...*env.Cluster) {
	t.Helper()
	for _, c := range clusters {
		env.Await(t, template+" on "+c.Name, func(ctx context.Context) (bool, string) {
			a := addOn(c.Name)
			if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
				return false, err.Error()
			}
			text, _ := json.Marshal(a.Status)
			return installed(a, template), string(text) + conflicts(ctx, c.Name)
		})
		env.Await(t, "Argo CD to run on "+c.Name, func(ctx context.Context) (bool, string) {
			o := controller()
			err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
			return err == nil && ready == 1, fmt.Sprint(err, o.Object["status"])
		})
	}
}

// conflicts returns the work agent's messages about the manifests that it failed to apply.
func conflicts(ctx context.Context, cluster string) string {
	list, err := works(ctx, cluster)
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, w := range list {
		for _, m := range w.Status.ResourceStatus.Manifests {
			if applied := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied); applied != nil && applied.Status == metav1.ConditionFalse {
				fmt.Fprintf(&text, "\n%s %s/%s: %s", m.ResourceMeta.Kind, m.ResourceMeta.Namespace, m.ResourceMeta.Name, applied.Message)
			}
		}
	}
	return text.String()
}

// awaitSynced waits until the guestbook of each cluster is Synced and Healthy, on the cluster and on the hub.
func awaitSynced(t *testing.T, clusters ...*env.Cluster) {
	t.Helper()
	for _, c := range clusters {
		for _, at := range []*env.Cluster{c, fleet.Hub} {
			env.Await(t, c.Name+"-guestbook on "+at.Name, func(ctx context.Context) (bool, string) {
				o := application(c.Name)
				if err := at.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
					return false, err.Error()
				}
				sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
				health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
				return sync == "Synced" && health == "Healthy", fmt.Sprint(o.Object["status"])
			})
		}
	}
}

// snapshot returns the stored objects by their identity.
func snapshot(t *testing.T, c *env.Cluster, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range objects {
		found := get(t, c, object(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName()))
		text, err := json.Marshal(found)
		must(t, err)
		all[o.GetKind()+" "+client.ObjectKeyFromObject(o).String()] = string(text)
	}
	return all
}

func patch(t *testing.T, c *env.Cluster, o client.Object, text string) {
	t.Helper()
	must(t, c.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text))))
}
