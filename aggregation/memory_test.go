// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// sets is the number of ApplicationSets in the fleet. Each has one Application on each cluster.
const sets = 10

// delivered returns the ManifestWork of the i-th Application of an idle fleet.
func delivered(tb testing.TB, i int) []byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(uint64(i), 1))
	set, cluster := fmt.Sprintf("set%02d", i%sets), fmt.Sprintf("cluster%04d", i/sets)
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster, Name: set + "-" + cluster + "-1a2b3", ResourceVersion: fmt.Sprint(200_000 + i), Generation: 1,
		UID:         types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", random.Uint32(), random.Uint32()>>16, random.Uint32()>>20, random.Uint32()>>20, random.Uint64()>>16)),
		Labels:      map[string]string{contract.PullLabel: "true", contract.ApplicationSetLabel: "true", contract.ApplicationSetHashLabel: contract.ApplicationSetHash("argocd", set)},
		Annotations: map[string]string{contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: set + "-" + cluster, contract.HostingAnnotation: "argocd/" + set},
		Finalizers:  []string{"cluster.open-cluster-management.io/manifest-work-cleanup"},
	}}
	condition := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind + "Complete", Message: "as it should be", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Unix(1_767_000_000, 0)}
	}
	w.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied), condition(workv1.WorkAvailable)}
	m := workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: "argocd", Name: set + "-" + cluster},
		Conditions:   []metav1.Condition{condition(workv1.ManifestApplied), condition(workv1.ManifestAvailable), condition("StatusFeedbackSynced")},
	}
	revision := fmt.Sprintf("be%038x", random.Uint64())
	for _, v := range [][2]string{
		{contract.FeedbackHealthStatus, "Healthy"}, {contract.FeedbackSyncStatus, "Synced"}, {contract.FeedbackSyncRevision, revision}, {contract.FeedbackOperationPhase, "Succeeded"},
		{contract.FeedbackOperationStartedAt, "2026-01-02T03:04:05Z"}, {contract.FeedbackOperationFinishedAt, "2026-01-02T03:04:09Z"},
		{contract.FeedbackOperationMessage, "successfully synced (all tasks run)"}, {contract.FeedbackReconciledAt, "2026-01-02T03:05:06Z"},
		{contract.FeedbackOperationRevision, revision},
	} {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: v[0], Value: workv1.FieldValue{Type: workv1.String, String: &v[1]}})
	}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	raw, err := json.Marshal(w)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// searched writes search's findings about the first n Applications, with ten resources each.
func searched(tb testing.TB, dir string, n int) {
	tb.Helper()
	store := intermediate.NewStore(dir)
	for s := range sets {
		set := fmt.Sprintf("set%02d", s)
		report := &intermediate.Report{Namespace: "argocd", Name: set}
		for c := range n / sets {
			cluster := fmt.Sprintf("cluster%04d", c)
			a := intermediate.Application{Cluster: cluster, Namespace: "argocd", Name: set + "-" + cluster}
			for r := range 10 {
				a.Resources = append(a.Resources, intermediate.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: set, Name: fmt.Sprintf("%s-%d", set, r)})
			}
			report.Applications = append(report.Applications, a)
		}
		if err := store.Write(report); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestMain(m *testing.M) {
	testkit.RunBinary(main)
	os.Exit(m.Run())
}

// BenchmarkMemory reports the heap that one row needs, and the resident memory with 20,000 rows. The heap
// per row is the growth from 2,000 to 20,000 rows. Search has findings about all Applications, or about
// none.
func BenchmarkMemory(b *testing.B) {
	const some, all = 2_000, 20_000
	for name, known := range map[string]int{"search": all, "without search": 0} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				less := settledFleet(b, some, min(some, known), false).Heap(b)
				binary := settledFleet(b, all, known, false)
				b.ReportMetric(float64(binary.Heap(b)-less)/(all-some), "B/row")
				b.ReportMetric(float64(binary.Resident())/(1<<20), "MiB")
				if path := os.Getenv("HEAP_PROFILE"); path != "" {
					if err := binary.SaveHeap(path); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkMemory_atStart reports the peak memory of a start, until the reports of 20,000 Applications are
// written. One hub sends the first list as a watch. The other does not (kube-apiserver before 1.32, and
// 1.33).
func BenchmarkMemory_atStart(b *testing.B) {
	const n = 20_000
	for name, lists := range map[string]bool{"watch": false, "lists": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(settledFleet(b, n, 0, lists).Peak())/(1<<20), "MiB")
			}
		})
		b.Run("kube-apiserver "+name, func(b *testing.B) {
			for b.Loop() {
				config := fleet(b, n).StartHub(b, map[string]string{"feature-gates": fmt.Sprint("WatchList=", !lists)})
				binary := testkit.StartBinary(b, config, "--intermediate-dir="+b.TempDir())
				binary.Settle(b, fmt.Sprint(sets, " reports to be written"), func(metrics map[string]float64) error {
					if done := metrics["aggregation_report_writes_total"]; done < sets {
						return fmt.Errorf("%v are", done)
					}
					return nil
				})
				b.ReportMetric(float64(binary.Peak())/(1<<20), "MiB")
			}
		})
	}
}

// fleet returns a hub in memory with n idle Applications.
func fleet(b *testing.B, n int) *testkit.MemoryHub {
	b.Helper()
	hub := testkit.NewMemoryHub(b)
	hub.Serve(schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}, "ManifestWork", true, n, func(i int) []byte { return delivered(b, i) })
	hub.Serve(schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}, "ManagedCluster", false, n/sets, func(i int) []byte {
		return fmt.Appendf(nil, `{"metadata":{"name":"cluster%04[1]d","uid":"uid-%[1]d","resourceVersion":"1"},"spec":{"hubAcceptsClient":true},`+
			`"status":{"conditions":[{"type":"ManagedClusterConditionAvailable","status":"True","reason":"r","message":"m","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, i)
	})
	hub.Serve(argocd.GroupVersion.WithResource(argocd.ApplicationSetPlural), argocd.ApplicationSetKind, true, sets, func(i int) []byte {
		return fmt.Appendf(nil, `{"metadata":{"namespace":"argocd","name":"set%02[1]d","uid":"uid-%[1]d","resourceVersion":"1"},`+
			`"spec":{"generators":[],"template":{"metadata":{"name":"app"},"spec":{"project":"default","destination":{}}}}}`, i)
	})
	hub.Serve(v1alpha1.GroupVersion.WithResource("multiclusterapplicationsetreports"), "MulticlusterApplicationSetReport", true, 0, nil)
	return hub
}

// settledFleet starts the binary on a hub in memory, and returns the binary when all reports are written.
// Search has findings about the first known Applications.
func settledFleet(b *testing.B, n, known int, lists bool) *testkit.Binary {
	b.Helper()
	hub := fleet(b, n)
	hub.ListsOnly = lists
	dir := b.TempDir()
	if known > 0 {
		searched(b, dir, known)
	}
	binary := testkit.StartBinary(b, hub.Config(), "--intermediate-dir="+dir)
	binary.Settle(b, fmt.Sprint(sets, " reports to be written"), func(map[string]float64) error {
		if hub.Writes()["POST multiclusterapplicationsetreports"] != sets {
			return fmt.Errorf("written were %v", hub.Writes())
		}
		return nil
	})
	return binary
}
