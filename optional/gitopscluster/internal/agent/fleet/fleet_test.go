// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// caches returns a Fleet that no controller uses.
func caches(t *testing.T) *Fleet {
	t.Helper()
	mgr, err := ctrl.NewManager(hub.config, ctrl.Options{
		Scheme: hub.client.Scheme(), Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr) // waits for the manager's own cache alone
	testkit.Eventually(t, "the caches to start", func() error {
		_, _, err := f.Works(t.Context())
		return err
	})
	return f
}

// One cluster's agent reports a time that the API server admits and Go's type cannot hold. The agents of other
// clusters are delivered, by a running process and by a new one.
func TestCaches_surviveWhatOneClusterReports(t *testing.T) {
	odd := newRig(t)
	odd.await("the work", written)
	key := client.ObjectKey{Namespace: odd.name, Name: agent.AddOnName}
	testkit.WriteUnreadableStatus(t, hub.client, "addon.open-cluster-management.io/v1alpha1", "ManagedClusterAddOn", key)
	testkit.WriteUnreadableStatus(t, hub.client, "work.open-cluster-management.io/v1", "ManifestWork", key)
	newRig(t).await("the work of another cluster", written)
}

// A managed cluster sets our label on its other works, and fills the work of its agent with labels,
// annotations and reports. The caches keep neither. The agent's work is still corrected, and keeps the
// labels of other clients.
func TestCaches_areLimitedAgainstAHostileCluster(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	r.stop()
	long := strings.Repeat("x", 100<<10)
	fill := func(w *workv1.ManifestWork) {
		w.Labels = map[string]string{agent.OwnedLabel: "true", "example.com/label": "kept"}
		if w.Annotations == nil {
			w.Annotations = map[string]string{}
		}
		w.Annotations["example.com/note"] = long
		w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"x":"` + strings.Repeat("x", 700<<10) + `"}}`),
		}}}
	}
	report := func(w *workv1.ManifestWork) {
		for range 8 {
			w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
				ResourceMeta:    workv1.ManifestResourceMeta{Resource: "secrets", Name: agent.ClientSecretName},
				Conditions:      []metav1.Condition{},
				StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{text("certificate", long[:60<<10])}},
			})
		}
	}
	for i := range 5 {
		w := named(r, fmt.Sprintf("other-%d", i))
		fill(w)
		r.create(w)
		testkit.EditStatus(t, hub.client, w, report)
	}
	testkit.Edit(t, hub.client, r.work(), fill)
	testkit.EditStatus(t, hub.client, r.work(), report)

	f := caches(t)
	deliver, leaving, err := f.Works(t.Context())
	if err != nil || deliver[r.name] == nil || leaving[r.name] != nil {
		t.Fatalf("works %v, looks %v, %v", deliver[r.name], leaving[r.name], err)
	}
	if kept, err := json.Marshal(deliver[r.name]); err != nil || len(kept) > 2<<10 {
		t.Errorf("the cache keeps %d bytes of it, %v", len(kept), err)
	}
	var all workv1.ManifestWorkList
	if err := f.objects.List(t.Context(), &all, client.InNamespace(r.name)); err != nil || len(all.Items) != 1 {
		t.Errorf("the cache has %d works, %v", len(all.Items), err)
	}

	r.start()
	testkit.Eventually(t, "the work to be corrected", func() error {
		w := r.work()
		if len(w.Spec.Workload.Manifests) < 2 || w.Labels["example.com/label"] != "kept" || w.Annotations["example.com/note"] != long {
			return fmt.Errorf("%d manifests, labels %v, %d annotations", len(w.Spec.Workload.Manifests), w.Labels, len(w.Annotations))
		}
		return nil
	})
}

// The cache keeps only the conditions of an add-on that are read. The others stay on the hub when the
// agent's state changes.
func TestReport_keepsTheConditionsOfOthers(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	long := strings.Repeat("x", 5000)
	foreign := condition("ClusterCertificateRotated", metav1.ConditionTrue, "Rotated")
	foreign.Message = long
	testkit.EditStatus(t, hub.client, r.addOn(), func(a *addonv1alpha1.ManagedClusterAddOn) {
		a.Status.Conditions = append(a.Status.Conditions, foreign, condition("Example", metav1.ConditionTrue, "Theirs"))
	})
	r.connect(certificate(t, r.name, "g1"))
	testkit.Eventually(t, "the add-on to be available", func() error {
		kept := map[string]metav1.Condition{}
		for _, c := range r.addOn().Status.Conditions {
			kept[c.Type] = c
		}
		if kept["Available"].Status != metav1.ConditionTrue || kept["Example"].Reason != "Theirs" || kept[foreign.Type].Message != long {
			return fmt.Errorf("conditions are %.300v", kept)
		}
		return nil
	})
}
