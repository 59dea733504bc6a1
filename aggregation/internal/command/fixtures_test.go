// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// world is the Namespace on the hub in which one test creates its objects.
type world struct {
	t         *testing.T
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	worlds++
	w := &world{t: t, namespace: fmt.Sprintf("argocd-%d", worlds)}
	w.must(hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) applicationSet(name string) *unstructured.Unstructured {
	w.t.Helper()
	set := w.applicationSetObject(name)
	w.must(hub.Create(w.t.Context(), set))
	return set
}

func (w *world) applicationSetObject(name string) *unstructured.Unstructured {
	set := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": w.namespace, "name": name},
		"spec": map[string]any{
			"generators": []any{},
			"template": map[string]any{
				"metadata": map[string]any{"name": "x"},
				"spec":     map[string]any{"project": "default", "destination": map[string]any{}},
			},
		},
	}}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind))
	return set
}

// cluster creates the ManagedCluster and its Namespace, sets its availability, and returns its full name.
func (w *world) cluster(name string, available metav1.ConditionStatus) string {
	w.t.Helper()
	name = w.namespace + "-" + name
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := hub.Create(w.t.Context(), c); apierrors.IsAlreadyExists(err) {
		w.must(hub.Get(w.t.Context(), client.ObjectKeyFromObject(c), c))
	} else {
		w.must(err)
		w.must(hub.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	c.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: available, Reason: "Test", Message: "as the test says",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)),
	}}
	w.must(hub.Status().Update(w.t.Context(), c))
	return name
}

// app identifies a delivered Application.
type app struct {
	set, name, cluster string
}

func (a app) work() string { return a.name + "-abcde" }

// deliver creates the ManifestWork of an Application.
func (w *world) deliver(a app) {
	w.t.Helper()
	w.must(hub.Create(w.t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.cluster, Name: a.work(),
		Labels: map[string]string{contract.PullLabel: "true", contract.ApplicationSetLabel: "true"},
		Annotations: map[string]string{
			contract.HostingAnnotation: w.namespace + "/" + a.set, contract.HubNamespaceAnnotation: w.namespace, contract.HubNameAnnotation: a.name,
		},
	}}))
}

// values are feedback values by name.
type values map[string]string

// healthy returns the feedback of a healthy, synced Application.
func healthy() values {
	return values{
		contract.FeedbackHealthStatus: "Healthy", contract.FeedbackSyncStatus: "Synced", contract.FeedbackSyncRevision: "53e28ff2",
		contract.FeedbackOperationPhase: "Succeeded", contract.FeedbackOperationStartedAt: "2026-11-20T10:00:00Z",
	}
}

// report writes feedback to the ManifestWork's status, as the work agent does.
func (w *world) report(a app, v values) {
	w.t.Helper()
	work := &workv1.ManifestWork{}
	w.must(hub.Get(w.t.Context(), client.ObjectKey{Namespace: a.cluster, Name: a.work()}, work))
	now := metav1.NewTime(time.Date(2026, 11, 20, 10, 0, 5, 0, time.UTC))
	var feedback []workv1.FeedbackValue
	for name, value := range v {
		feedback = append(feedback, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	work.Status.Conditions = []metav1.Condition{{
		Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: work.Generation, Reason: "Applied", LastTransitionTime: now,
	}}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: w.namespace, Name: a.name},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: feedback},
		Conditions:      []metav1.Condition{{Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: now}},
	}}
	w.must(hub.Status().Update(w.t.Context(), work))
}

func (w *world) read(name string) (*v1alpha1.MulticlusterApplicationSetReport, error) {
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	return r, hub.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, r)
}

// row waits until the report has exactly one row. want is "health sync [condition types]".
func (w *world) row(report, want string) {
	w.t.Helper()
	testkit.Eventually(w.t, "report "+report+" with a row "+want, func() error {
		r, err := w.read(report)
		if err != nil {
			return err
		}
		if n := len(r.Statuses.ClusterConditions); n != 1 {
			return fmt.Errorf("%d rows", n)
		}
		c := r.Statuses.ClusterConditions[0]
		got := c.HealthStatus + " " + c.SyncStatus
		for _, condition := range c.Conditions {
			got += " " + condition.Type
		}
		if got != want {
			return errors.New(got)
		}
		return nil
	})
}

// lone creates an ApplicationSet with one healthy Application on one available cluster.
func (w *world) lone(set string) app {
	w.t.Helper()
	w.applicationSet(set)
	a := app{set, set + "-app", w.cluster("cluster1", metav1.ConditionTrue)}
	w.deliver(a)
	w.report(a, healthy())
	return a
}

// passed waits until the process leads and has processed all earlier events. It creates a new
// ApplicationSet and waits for its report. Aggregation writes reports in parallel, so this proves nothing
// about another pending write.
func (w *world) passed() {
	w.t.Helper()
	marks++
	w.lone(fmt.Sprintf("mark-%d", marks))
	w.row(fmt.Sprintf("mark-%d", marks), "Healthy Synced")
}
