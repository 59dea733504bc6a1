// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// nextTemplate is the AddOnTemplate of a newer Argo CD.
const nextTemplate = "argocd-3.5.7"

// TestAddOn_installsUpgradesAndRemovesArgoCD tests the life of the Argo CD add-on. An existing Argo CD stays unchanged. Two
// labelled clusters get an Argo CD one after the other, then a newer version, and a pulled Application runs.
// A Placement that selects nothing for a moment removes nothing. Argo CD can be removed, and a cluster with
// pulled Applications can be detached.
func TestAddOn_installsUpgradesAndRemovesArgoCD(t *testing.T) {
	t.Run("an existing one stays as it is", existingStays)
	if !t.Run("two clusters get one", getOne) {
		t.FailNow() // the next tests depend on it
	}
	t.Run("a new version reaches one cluster after the other", newVersion)
	t.Run("an empty Placement removes nothing", emptyPlacement)
	t.Run("the commands of the page remove it", removal)
	t.Run("a cluster is detached", detached)
}

func getOne(t *testing.T) {
	for _, c := range fleet.Managed {
		env.Await(t, c.Name+" to have no Applications any more", func(ctx context.Context) (bool, string) {
			err := c.Client.Get(ctx, client.ObjectKey{Name: definition("applications").GetName()}, definition("applications"))
			return apierrors.IsNotFound(err), fmt.Sprint(err)
		})
	}
	must(t, fleet.Hub.ApplyFiles(t.Context(), scenario.Examples("hub")))
	began := time.Now()
	want(t, true, fleet.Managed...)
	oneAfterTheOther(t, scenario.ArgoCDTemplate)
	awaitInstalled(t, scenario.ArgoCDTemplate, fleet.Managed...)
	t.Logf("Argo CD runs on %d clusters after %s", len(fleet.Managed), time.Since(began).Round(time.Second))
	sizes(t, scenario.ArgoCDTemplate)
	set, err := env.ReadObjects(scenario.Examples("guestbook-app-set.yaml"))
	must(t, err)
	// With this finalizer Argo CD prunes the workload, so the Application needs a running Argo CD until its
	// end.
	must(t, unstructured.SetNestedStringSlice(set[0].Object, []string{"resources-finalizer.argocd.argoproj.io"}, "spec", "template", "metadata", "finalizers"))
	must(t, fleet.Hub.Apply(t.Context(), set...))
	awaitSynced(t, fleet.Managed...)
}

// oneAfterTheOther waits until the last cluster gets a template. It checks that the first cluster has run the
// template for the time that the example sets.
func oneAfterTheOther(t *testing.T, template string) {
	t.Helper()
	first, second := fleet.Managed[0].Name, fleet.Managed[1].Name
	env.Await(t, template+" to be meant for "+second, func(ctx context.Context) (bool, string) {
		a, b := addOn(first), addOn(second)
		for _, o := range []*addonv1alpha1.ManagedClusterAddOn{b, a} { // the later one first
			if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return false, err.Error()
			}
		}
		text, _ := json.Marshal(a.Status)
		if !desires(b, template) {
			return false, string(text) + conflicts(ctx, first)
		}
		progressing := meta.FindStatusCondition(a.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionProgressing)
		if !desires(a, template) || progressing == nil || progressing.Reason != addonv1alpha1.ProgressingReasonCompleted {
			t.Errorf("%s gets %s before %s has applied it: %s", second, template, first, text)
		} else if since := time.Since(progressing.LastTransitionTime.Time); since < between-time.Second { // conditions have whole seconds
			t.Errorf("%s gets %s %s after %s", second, template, since, first)
		}
		return true, ""
	})
}

func desires(a *addonv1alpha1.ManagedClusterAddOn, template string) bool {
	for _, reference := range a.Status.ConfigReferences {
		if reference.DesiredConfig != nil && reference.DesiredConfig.Name == template && reference.DesiredConfig.SpecHash != "" {
			return true
		}
	}
	return false
}

// These are limits of OCM and of the hub. workLimit applies to a ManifestWork in the add-on framework and in
// OCM's webhook. templateLimit applies to an object on the hub.
const (
	workLimit     = 409600
	templateLimit = 1 << 20
)

// sizes checks the result of the add-on manager: each cluster has one ManifestWork with the whole template.
func sizes(t *testing.T, template string) {
	t.Helper()
	text, err := get(t, fleet.Hub, object("addon.open-cluster-management.io/v1alpha1", "AddOnTemplate", "", template)).MarshalJSON()
	must(t, err)
	t.Logf("%s has %d bytes", template, len(text))
	if len(text) > templateLimit {
		t.Errorf("%s has %d bytes", template, len(text))
	}
	for _, c := range fleet.Managed {
		list, err := works(t.Context(), c.Name)
		must(t, err)
		if len(list) != 1 {
			t.Errorf("%s has %d works", c.Name, len(list))
		}
		for _, w := range list {
			bytes := 0
			for _, m := range w.Spec.Workload.Manifests {
				bytes += len(m.Raw)
			}
			t.Logf("%s/%s has %d manifests of %d bytes", w.Namespace, w.Name, len(w.Spec.Workload.Manifests), bytes)
			if bytes > workLimit || len(w.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules) != len(w.Spec.Workload.Manifests) {
				t.Errorf("%s/%s: %d bytes, orphans %+v", w.Namespace, w.Name, bytes, w.Spec.DeleteOption)
			}
		}
	}
}

// adopt sets the template of the ClusterManagementAddOn.
func adopt(t *testing.T, template string) {
	t.Helper()
	o := object("addon.open-cluster-management.io/v1alpha1", "ClusterManagementAddOn", "", scenario.ArgoCDAddOn)
	patch(t, fleet.Hub, o, fmt.Sprintf(`{"spec":{"supportedConfigs":[{"group":"addon.open-cluster-management.io","resource":"addontemplates","defaultConfig":{"name":%q}}]}}`, template))
}

func newVersion(t *testing.T) {
	must(t, scenario.AddArgoCDTemplate(t.Context(), fleet.Hub, nextTemplate, scenario.CoreInstall(true)))
	settings := object("v1", "ConfigMap", env.ArgoCDNamespace, "argocd-cm")
	for _, c := range fleet.Managed {
		patch(t, c, settings.DeepCopy(), `{"data":{"accounts.alice":"login"}}`)
	}
	adopt(t, nextTemplate)
	oneAfterTheOther(t, nextTemplate)
	awaitInstalled(t, nextTemplate, fleet.Managed...)
	sizes(t, nextTemplate)
	for _, c := range fleet.Managed {
		containers, _, _ := unstructured.NestedSlice(get(t, c, controller()).Object, "spec", "template", "spec", "containers")
		if text := fmt.Sprint(containers); !strings.Contains(text, "quay.io/argoproj/argocd:v3.5.7") {
			t.Errorf("%s runs %s", c.Name, text)
		}
		if data, _, _ := unstructured.NestedStringMap(get(t, c, settings.DeepCopy()).Object, "data"); data["accounts.alice"] != "login" {
			t.Errorf("%s has lost the settings of its users: %v", c.Name, data)
		}
	}
	awaitSynced(t, fleet.Managed...)
}

// identities returns the UIDs of the most important objects of a cluster.
func identities(t *testing.T, c *env.Cluster) map[string]string {
	t.Helper()
	uids := map[string]string{}
	for _, o := range []*unstructured.Unstructured{
		definition("applications"), definition("appprojects"), controller(), application(c.Name), object("v1", "Namespace", "", env.ArgoCDNamespace),
		object("v1", "Secret", env.ArgoCDNamespace, "argocd-secret"), object("apps/v1", "Deployment", env.ArgoCDNamespace, "argocd-repo-server"),
		object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", env.ArgoCDController), object("apps/v1", "Deployment", workload, "guestbook-ui"),
	} {
		found := get(t, c, o)
		uids[found.GetKind()+" "+found.GetName()] = string(found.GetUID())
		if found.GetDeletionTimestamp() != nil {
			t.Errorf("%s: %s %s is being deleted", c.Name, found.GetKind(), found.GetName())
		}
	}
	return uids
}

func emptyPlacement(t *testing.T) {
	before := map[string]map[string]string{}
	for _, c := range fleet.Managed {
		before[c.Name] = identities(t, c)
	}
	check := func(when string) {
		t.Helper()
		for _, c := range fleet.Managed {
			for what, uid := range identities(t, c) {
				if uid != before[c.Name][what] {
					t.Errorf("%s: %s of %s is another one", when, what, c.Name)
				}
			}
		}
	}
	placement := object("cluster.open-cluster-management.io/v1beta1", "Placement", env.ArgoCDNamespace, "argocd-on-clusters")
	selects := `{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"install-argocd":%q}}}}]}}`
	patch(t, fleet.Hub, placement.DeepCopy(), fmt.Sprintf(selects, "nobody"))
	for _, c := range fleet.Managed {
		gone(t, fleet.Hub, addOn(c.Name))
		env.Await(t, "the end of the works of "+c.Name, func(ctx context.Context) (bool, string) {
			list, err := works(ctx, c.Name)
			text, _ := json.Marshal(list)
			return err == nil && len(list) == 0, string(text)
		})
	}
	check("while the Placement is empty")
	patch(t, fleet.Hub, placement.DeepCopy(), fmt.Sprintf(selects, "true"))
	awaitInstalled(t, nextTemplate, fleet.Managed...)
	check("afterwards")
	awaitSynced(t, fleet.Managed...)
}

// removal removes Argo CD from the second cluster, by the steps of the page.
func removal(t *testing.T) {
	c := fleet.Managed[1]
	patch(t, fleet.Hub, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, `{"metadata":{"labels":{"no-guestbook":"true"}}}`)
	patch(t, fleet.Hub, object("cluster.open-cluster-management.io/v1beta1", "Placement", env.ArgoCDNamespace, "guestbook"),
		`{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchExpressions":[{"key":"no-guestbook","operator":"DoesNotExist"}]}}}]}}`)
	gone(t, c, application(c.Name))
	gone(t, c, object("apps/v1", "Deployment", workload, "guestbook-ui"))
	want(t, false, c)
	gone(t, fleet.Hub, addOn(c.Name))
	template := &addonv1alpha1.AddOnTemplate{}
	must(t, fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Name: nextTemplate}, template))
	for _, m := range template.Spec.AgentSpec.Workload.Manifests {
		o := &unstructured.Unstructured{}
		must(t, o.UnmarshalJSON(m.Raw))
		if o.GetKind() == "Namespace" {
			continue // other objects of the fleet are in it
		}
		err := c.Client.Delete(t.Context(), o)
		if meta.IsNoMatchError(err) {
			err = nil // its CustomResourceDefinition was deleted first
		}
		must(t, client.IgnoreNotFound(err))
	}
	gone(t, c, definition("applications"))
	gone(t, c, controller())
}

// detached deletes the ManagedCluster of the first cluster, which has a pulled Application. The Application
// and its workload are deleted, and Argo CD stays.
func detached(t *testing.T) {
	c := fleet.Managed[0]
	before := identities(t, c)
	must(t, fleet.Hub.Client.Delete(t.Context(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}))
	gone(t, fleet.Hub, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}})
	gone(t, fleet.Hub, application(c.Name))
	gone(t, c, application(c.Name))
	gone(t, c, object("apps/v1", "Deployment", workload, "guestbook-ui"))
	env.Await(t, "the end of what the hub has of "+c.Name, func(ctx context.Context) (bool, string) {
		var list workv1.ManifestWorkList
		var applied workv1.AppliedManifestWorkList
		err := fleet.Hub.Client.List(ctx, &list, client.InNamespace(c.Name))
		if err == nil {
			err = c.Client.List(ctx, &applied)
		}
		return err == nil && len(list.Items) == 0 && len(applied.Items) == 0, fmt.Sprint(err, list.Items, applied.Items)
	})
	for _, o := range []*unstructured.Unstructured{definition("applications"), definition("appprojects"), controller()} {
		if found := get(t, c, o); string(found.GetUID()) != before[found.GetKind()+" "+found.GetName()] || found.GetDeletionTimestamp() != nil {
			t.Errorf("%s %s of the cluster went with its ManagedCluster", found.GetKind(), found.GetName())
		}
	}
}
