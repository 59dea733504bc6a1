// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

const (
	bring    = "pull-fleet"
	workName = "mci-argocd"
)

func object(version, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(env.ArgoCDNamespace)
	o.SetName(name)
	return o
}

func gitopsCluster() *unstructured.Unstructured {
	return object("apps.open-cluster-management.io/v1beta1", "GitOpsCluster", bring)
}

func application(name string) *unstructured.Unstructured {
	return object("argoproj.io/v1alpha1", "Application", name)
}

// condition waits for a condition of the GitOpsCluster.
func condition(t *testing.T, kind string, is metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	env.Await(t, fmt.Sprintf("%s %s/%s", kind, is, reason), func(ctx context.Context) (bool, string) {
		o := gitopsCluster()
		if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range list {
			c := c.(map[string]any)
			if c["type"] == kind && c["status"] == string(is) && c["reason"] == reason {
				found.Message, _ = c["message"].(string)
				return true, ""
			}
		}
		return false, fmt.Sprint(list)
	})
	return found
}

// everywhere waits until the GitOpsCluster is ready with an Argo CD on each cluster: before the
// Placement has decided it is ready with none.
func everywhere(t *testing.T) {
	t.Helper()
	env.Await(t, "Argo CD on every cluster", func(ctx context.Context) (bool, string) {
		o := gitopsCluster()
		if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "argoCD", "ready")
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		return ready == int64(len(fleet.Managed)) && phase == "successful", fmt.Sprint(o.Object["status"])
	})
}

// syncedAndHealthy reports what an Application says of itself.
func syncedAndHealthy(ctx context.Context, c *env.Cluster, name string) (bool, string) {
	o := application(name)
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return false, err.Error()
	}
	sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
	health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
	return sync == "Synced" && health == "Healthy", fmt.Sprint(o.Object["status"])
}

// Clusters without Argo CD become clusters that are pulled to, by one apply, and lose it again
// without losing what they run.
func TestFleetWithoutArgoCD_pullsAfterOneApply(t *testing.T) {
	for _, c := range fleet.Managed {
		if err := c.Client.Get(t.Context(), client.ObjectKey{Name: "applications.argoproj.io"}, definition()); !apierrors.IsNotFound(err) {
			t.Fatalf("%s has Applications before: %v", c.Name, err)
		}
	}
	began := time.Now()
	must(t, fleet.Hub.ApplyFiles(t.Context(), scenario.Examples("hub"), scenario.Examples("gitopscluster/pull-from-nothing.yaml")))
	everywhere(t)
	t.Logf("Argo CD runs on %d clusters after %s", len(fleet.Managed), time.Since(began).Round(time.Second))
	// The ApplicationSet controller does not watch decisions, see docs/application.md.
	must(t, fleet.Hub.ApplyFiles(t.Context(), scenario.Examples("guestbook-app-set.yaml")))
	for _, c := range fleet.Managed {
		name := c.Name + "-guestbook"
		for _, at := range []*env.Cluster{c, fleet.Hub} {
			env.Await(t, name+" on "+at.Name, func(ctx context.Context) (bool, string) { return syncedAndHealthy(ctx, at, name) })
		}
	}
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("from the apply to the first Application it took %s", took)
	} else {
		t.Logf("the first Application after %s", took.Round(time.Second))
	}
	staysWithWhatNeedsIt(t)
	withdraw(t)
}

// staysWithWhatNeedsIt has no Argo CD wanted any more while Applications are delivered.
func staysWithWhatNeedsIt(t *testing.T) {
	t.Helper()
	must(t, fleet.Hub.Client.Patch(t.Context(), gitopsCluster(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"argoCD":null}}`))))
	condition(t, "Leaving", metav1.ConditionTrue, "ArgoCDLeaving")
	for _, c := range fleet.Managed {
		work := &workv1.ManifestWork{}
		must(t, fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: c.Name, Name: workName}, work))
		if !work.DeletionTimestamp.IsZero() {
			t.Errorf("%s loses Argo CD before its Applications", c.Name)
		}
	}
}

// withdraw lets what is pulled go with orphans, so that something stays that Argo CD could prune.
func withdraw(t *testing.T) {
	t.Helper()
	policy := []byte(`{"metadata":{"annotations":{"apps.open-cluster-management.io/deletion-policy":"orphan"}}}`)
	set := object("argoproj.io/v1alpha1", "ApplicationSet", "guestbook")
	must(t, fleet.Hub.Client.Patch(t.Context(), set, client.RawPatch(types.MergePatchType, policy)))
	must(t, fleet.Hub.Client.Delete(t.Context(), set))
	condition(t, "Ready", metav1.ConditionTrue, "AsExpected")
	for _, c := range fleet.Managed {
		if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: c.Name, Name: workName}, &workv1.ManifestWork{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: the work that delivers Argo CD: %v", c.Name, err)
		}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: env.ArgoCDController}, &appsv1.StatefulSet{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: Argo CD's controller: %v", c.Name, err)
		}
		must(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(application(c.Name+"-guestbook")), application(c.Name+"-guestbook")))
		deployments := &appsv1.DeploymentList{}
		must(t, c.Client.List(t.Context(), deployments, client.InNamespace("guestbook")))
		if len(deployments.Items) == 0 || !deployments.Items[0].DeletionTimestamp.IsZero() {
			t.Errorf("%s: %d Deployments of the guestbook", c.Name, len(deployments.Items))
		}
		must(t, c.Client.Get(t.Context(), client.ObjectKey{Name: env.ArgoCDNamespace}, &corev1.Namespace{}))
	}
}

func definition() client.Object {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	return o
}

// One that is there already stays as it is.
func TestArgoCDOfTheClusters_isNotTakenOver(t *testing.T) {
	there := fleet.Managed[0]
	labels := map[string]string{"app": "argocd"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: env.ArgoCDController}}
	zero := int32(0)
	set.Spec = appsv1.StatefulSetSpec{Replicas: &zero, ServiceName: "x", Selector: &metav1.LabelSelector{MatchLabels: labels}}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "x", Image: "example.com/theirs:1"}}
	must(t, there.Client.Create(t.Context(), set))
	t.Cleanup(func() { must(t, there.Client.Delete(context.Background(), set)) })
	must(t, fleet.Hub.ApplyFiles(t.Context(), scenario.Examples("hub"), scenario.Examples("gitopscluster/pull-from-nothing.yaml")))
	c := condition(t, "ArgoCDDeployed", metav1.ConditionFalse, "AlreadyThere")
	t.Log(c.Message)
	after := &appsv1.StatefulSet{}
	must(t, there.Client.Get(t.Context(), client.ObjectKeyFromObject(set), after))
	if after.Generation != set.Generation || after.UID != set.UID {
		t.Errorf("it was changed: %+v", after.ManagedFields)
	}
	env.Await(t, "the other cluster to have one", func(ctx context.Context) (bool, string) {
		err := fleet.Managed[1].Client.Get(ctx, client.ObjectKeyFromObject(set), &appsv1.StatefulSet{})
		return err == nil, fmt.Sprint(err)
	})
}
