// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// sets is the number of ApplicationSets of the fleet. Each has one Application for each cluster.
const sets = 10

// spec returns a spec of the usual size: a chart with some values.
func spec(set string) json.RawMessage {
	return fmt.Appendf(nil, `{"destination":{"namespace":%[1]q,"server":"https://kubernetes.default.svc"},"project":"default","source":{"helm":{"releaseName":%[1]q,"values":%[2]q},`+
		`"path":"charts/%[3]s","repoURL":"https://git.example.com/apps.git","targetRevision":"main"},"syncPolicy":{"automated":{"prune":true,"selfHeal":true},"syncOptions":["CreateNamespace=true"]}}`,
		set, strings.Repeat("replicaCount: 3\nimage: {repository: registry.example.com/shop}\n", 8), set)
}

// delivered returns the i-th Application of a settled fleet and its ManifestWork, as
// the API server sends them.
func delivered(tb testing.TB, i int) (app, work []byte) {
	tb.Helper()
	random := rand.New(rand.NewPCG(uint64(i), 1))
	uid := func() types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", random.Uint32(), random.Uint32()>>16, random.Uint32()>>20, random.Uint32()>>20, random.Uint64()>>16))
	}
	set, cluster := fmt.Sprintf("set%02d", i%sets), fmt.Sprintf("cluster%04d", i/sets)
	revision := fmt.Sprintf("be%038x", random.Uint64())
	yes := true
	a := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: set + "-" + cluster, UID: uid(), ResourceVersion: fmt.Sprint(100_000 + i), Generation: 3,
		Labels: map[string]string{contract.PullLabel: "true"}, Finalizers: []string{argocd.ResourcesFinalizer},
		Annotations:     map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: set, UID: types.UID("uid-of-" + set), Controller: &yes, BlockOwnerDeletion: &yes}},
	}, Spec: spec(set)}
	w, err := payload.ManifestWork(payload.Inputs{Application: a, CreateNamespace: true})
	if err != nil {
		tb.Fatal(err)
	}
	a.Status = fmt.Appendf(nil, `{"health":{"status":"Healthy"},"operationState":{"finishedAt":"2026-01-02T03:04:09Z","message":"successfully synced (all tasks run)","operation":{},`+
		`"phase":"Succeeded","startedAt":"2026-01-02T03:04:05Z","syncResult":{"revision":%[1]q}},"reconciledAt":"2026-01-02T03:05:06Z","sync":{"revision":%[1]q,"status":"Synced"}}`, revision)
	w.Name, w.UID, w.ResourceVersion, w.Generation = contract.WorkName(a.Name, string(a.UID)), uid(), fmt.Sprint(200_000+i), 1
	w.Finalizers = []string{"cluster.open-cluster-management.io/manifest-work-cleanup"}
	report(w, revision)
	return encode(tb, a), encode(tb, w)
}

// report sets a work agent's status: the Application runs a revision.
func report(w *workv1.ManifestWork, revision string) {
	condition := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind + "Complete", Message: "as it should be", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Unix(1_767_000_000, 0)}
	}
	w.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied), condition(workv1.WorkAvailable)}
	m := workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: "argocd", Name: w.Annotations[contract.HubNameAnnotation]},
		Conditions:   []metav1.Condition{condition(workv1.ManifestApplied), condition(workv1.ManifestAvailable), condition("StatusFeedbackSynced")},
	}
	for _, v := range [][2]string{
		{contract.FeedbackHealthStatus, "Healthy"}, {contract.FeedbackSyncStatus, "Synced"}, {contract.FeedbackSyncRevision, revision}, {contract.FeedbackOperationPhase, "Succeeded"},
		{contract.FeedbackOperationStartedAt, "2026-01-02T03:04:05Z"}, {contract.FeedbackOperationFinishedAt, "2026-01-02T03:04:09Z"},
		{contract.FeedbackOperationMessage, "successfully synced (all tasks run)"}, {contract.FeedbackReconciledAt, "2026-01-02T03:05:06Z"},
		{contract.FeedbackOperationRevision, revision},
	} {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: v[0], Value: workv1.FieldValue{Type: workv1.String, String: &v[1]}})
	}
	namespace := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "argocd"}, Conditions: m.Conditions}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{namespace, m}
}

func cluster(i int) []byte {
	return fmt.Appendf(nil, `{"metadata":{"name":"cluster%04[1]d","uid":"uid-%[1]d","resourceVersion":"1"},"spec":{"hubAcceptsClient":true},`+
		`"status":{"conditions":[{"type":"ManagedClusterConditionAvailable","status":"True","reason":"r","message":"m","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, i)
}

func encode(tb testing.TB, o any) []byte {
	tb.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestMain(m *testing.M) {
	testkit.RunBinary(main)
	os.Exit(m.Run())
}

// BenchmarkMemory reports how much memory the binary keeps for one settled Application with all its objects.
// The result is the growth of the heap from 2,000 to 20,000 Applications. It also reports the resident
// memory with 20,000.
func BenchmarkMemory(b *testing.B) {
	const some, all = 2_000, 20_000
	for b.Loop() {
		less := settledFleet(b, some, false).Heap(b)
		binary := settledFleet(b, all, false)
		b.ReportMetric(float64(binary.Heap(b)-less)/(all-some), "B/Application")
		b.ReportMetric(float64(binary.Resident())/(1<<20), "MiB")
		if path := os.Getenv("HEAP_PROFILE"); path != "" {
			if err := binary.SaveHeap(path); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkMemory_atStart reports the peak of the resident memory until 20,000 Applications are settled. Some
// hubs send the first list as a watch, others do not (kube-apiserver before 1.32, and 1.33).
func BenchmarkMemory_atStart(b *testing.B) {
	const n = 20_000
	for name, lists := range map[string]bool{"watch": false, "lists": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(settledFleet(b, n, lists).Peak())/(1<<20), "MiB")
			}
		})
		b.Run("kube-apiserver "+name, func(b *testing.B) {
			for b.Loop() {
				config := fleet(b, n).StartHub(b, map[string]string{"feature-gates": fmt.Sprint("WatchList=", !lists)})
				b.ReportMetric(float64(settled(b, config, n).Peak())/(1<<20), "MiB")
			}
		})
	}
}

// fleet returns a hub with n settled Applications.
func fleet(b *testing.B, n int) *testkit.MemoryHub {
	b.Helper()
	hub := testkit.NewMemoryHub(b)
	works := schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	clusters := schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	hub.Serve(works, "ManifestWork", true, n, func(i int) []byte { _, work := delivered(b, i); return work })
	hub.Serve(clusters, "ManagedCluster", false, n/sets, cluster)
	hub.Serve(argocd.GroupVersion.WithResource(argocd.ApplicationPlural), argocd.ApplicationKind, true, n, func(i int) []byte { app, _ := delivered(b, i); return app })
	hub.Serve(argocd.GroupVersion.WithResource(argocd.AppProjectPlural), argocd.AppProjectKind, true, 0, nil)
	hub.Serve(schema.GroupVersionResource{Group: clusters.Group, Version: "v1beta1", Resource: "placementdecisions"}, "PlacementDecision", true, 0, nil)
	hub.Serve(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true, 0, nil)
	hub.Serve(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true, 0, nil)
	hub.Serve(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "Namespace", false, 0, nil)
	hub.Serve(argocd.GroupVersion.WithResource(argocd.ApplicationSetPlural), argocd.ApplicationSetKind, true, 0, nil)
	return hub
}

// settled starts the binary, and returns it once n Applications are delivered.
func settled(b *testing.B, hub *rest.Config, n int) *testkit.Binary {
	b.Helper()
	binary := testkit.StartBinary(b, hub, "--cluster-binding=none")
	binary.Settle(b, fmt.Sprint(n, " Applications to be delivered"), func(metrics map[string]float64) error {
		if done := metrics["propagation_applications"]; done != float64(n) {
			return fmt.Errorf("%v are", done)
		}
		return nil
	})
	return binary
}

// settledFleet starts the binary on a hub in memory, and checks that it writes nothing but Secrets.
func settledFleet(b *testing.B, n int, lists bool) *testkit.Binary {
	b.Helper()
	hub := fleet(b, n)
	hub.ListsOnly = lists
	binary := settled(b, hub.Config(), n)
	for what, times := range hub.Writes() {
		if what != "POST secrets" { // one for each cluster, because the hub stores none
			b.Errorf("%s was sent %d times: the fleet is not settled", what, times)
		}
	}
	return binary
}
