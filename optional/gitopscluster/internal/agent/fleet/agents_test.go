// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The helpers in this file act on the hub as the agents of a managed cluster do.

// stored reads an object of the cluster. found is false if the object does not exist.
func stored[T client.Object](r *rig, name string, o T) (T, bool) {
	r.t.Helper()
	err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: r.name, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	return o, !apierrors.IsNotFound(err)
}

func (r *rig) work() *workv1.ManifestWork {
	w, _ := stored(r, agent.WorkName, &workv1.ManifestWork{})
	return w
}

func (r *rig) addOn() *addonv1alpha1.ManagedClusterAddOn {
	a, _ := stored(r, agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{})
	return a
}

func named(r *rig, name string) *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: r.name, Name: name}}
}

// claim adds the work agent's finalizer to a ManifestWork.
func (r *rig) claim(name string) {
	r.t.Helper()
	testkit.Edit(r.t, hub.client, named(r, name), func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
}

// release removes the work agent's finalizer, as if the delivered objects are deleted from the cluster.
func (r *rig) release(name string) {
	r.t.Helper()
	testkit.Edit(r.t, hub.client, named(r, name), func(w *workv1.ManifestWork) { w.Finalizers = nil })
}

// delivered returns the Deployment in the ManifestWork.
func (r *rig) delivered() *appsv1.Deployment {
	r.t.Helper()
	for _, m := range r.work().Spec.Workload.Manifests {
		d := &appsv1.Deployment{}
		if err := json.Unmarshal(m.Raw, d); err == nil && d.Kind == "Deployment" {
			return d
		}
	}
	r.t.Fatal("the work delivers no Deployment")
	return nil
}

// apply writes the status of a ManifestWork, as the work agent does. The Secret has the certificate pem, or
// does not exist if pem is nil. The Deployment is ready or not.
func (r *rig) apply(name string, pem []byte, ready bool) {
	r.t.Helper()
	looked := workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Kind: "Secret", Resource: "secrets", Namespace: "argocd", Name: agent.ClientSecretName},
		Conditions:   []metav1.Condition{condition(workv1.ManifestApplied, metav1.ConditionTrue, "Applied"), condition(workv1.ManifestAvailable, metav1.ConditionFalse, "ResourceNotAvailable")},
	}
	if pem != nil {
		looked.Conditions[1] = condition(workv1.ManifestAvailable, metav1.ConditionTrue, "ResourceAvailable")
		looked.StatusFeedbacks.Values = []workv1.FeedbackValue{text("resourceVersion", fmt.Sprint(serial.Add(1))), text("certificate", base64.StdEncoding.EncodeToString(pem))}
	}
	manifests := []workv1.ManifestCondition{looked}
	if name == agent.WorkName {
		manifests = append(manifests, r.runs(ready))
	}
	testkit.EditStatus(r.t, hub.client, named(r, name), func(w *workv1.ManifestWork) {
		c := condition(workv1.WorkApplied, metav1.ConditionTrue, "Applied")
		c.ObservedGeneration = w.Generation
		meta.SetStatusCondition(&w.Status.Conditions, c)
		w.Status.ResourceStatus.Manifests = manifests
	})
}

func (r *rig) runs(ready bool) workv1.ManifestCondition {
	r.t.Helper()
	d := r.delivered()
	replicas := int64(0)
	if ready {
		replicas = 1
	}
	return workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: "argocd", Name: agent.DeploymentName},
		Conditions:   []metav1.Condition{condition(workv1.ManifestApplied, metav1.ConditionTrue, "Applied")},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{
			number("availableReplicas", replicas), number("updatedReplicas", 1), number("replicas", 1), number("observedGeneration", 2), number("generation", 2),
			text("image", d.Spec.Template.Spec.Containers[0].Image), text("certificates", d.Spec.Template.Annotations[agent.CertificatesAnnotation]),
		}},
	}
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.Now()}
}

func text(name, value string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
}

func number(name string, value int64) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &value}}
}
