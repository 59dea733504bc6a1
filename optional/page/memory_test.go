// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// sets is the number of ApplicationSets in the fleet. Each has one Application on each cluster.
const sets = 10

// pulled returns the i-th Application of an idle fleet, as large as Argo CD makes it.
func pulled(tb testing.TB, i int) []byte {
	tb.Helper()
	set, cluster := fmt.Sprintf("set%02d", i%sets), fmt.Sprintf("cluster%04d", i/sets)
	a := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: set + "-" + cluster, ResourceVersion: fmt.Sprint(200_000 + i), UID: types.UID(fmt.Sprintf("%08x-0000-4000-a000-000000000000", i)),
		Labels: map[string]string{contract.PullLabel: "true"}, Annotations: map[string]string{contract.ClusterAnnotation: cluster},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: set, UID: "1"}},
	}}
	a.Spec = json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"` + set + `","targetRevision":"main"},"destination":{"server":"https://kubernetes.default.svc","namespace":"` + set + `"}}`)
	a.Status = json.RawMessage(fmt.Sprintf(`{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"be%038x"},"reconciledAt":"2026-01-02T03:05:06Z",`+
		`"operationState":{"phase":"Succeeded","startedAt":"2026-01-02T03:04:05Z","finishedAt":"2026-01-02T03:04:09Z","message":"successfully synced (all tasks run)","operation":{}}}`, i%sets))
	raw, err := json.Marshal(a)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func TestMain(m *testing.M) {
	testkit.RunBinary(main)
	os.Exit(m.Run())
}

// BenchmarkMemory reports the heap of one Application, and the resident memory with none and with 20,000
// Applications. It also reports the time from the start until all are read.
func BenchmarkMemory(b *testing.B) {
	const all = 20_000
	for b.Loop() {
		none, bare, _ := settled(b, 0)
		heap, resident, took := settled(b, all)
		b.ReportMetric(float64(heap-none)/all, "B/application")
		b.ReportMetric(float64(bare)/(1<<20), "MiB-bare")
		b.ReportMetric(float64(resident)/(1<<20), "MiB")
		b.ReportMetric(took.Seconds(), "s-to-read")
	}
}

// settled runs the binary on a hub with n Applications. It returns the heap, the resident memory and the
// time until all are read.
func settled(b *testing.B, n int) (heap, resident int, took time.Duration) {
	b.Helper()
	hub := testkit.NewMemoryHub(b)
	hub.Serve(argocd.GroupVersion.WithResource(argocd.ApplicationPlural), argocd.ApplicationKind, true, n, func(i int) []byte { return pulled(b, i) })
	hub.Serve(schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}, "ManagedCluster", false, n/sets, func(i int) []byte {
		return fmt.Appendf(nil, `{"metadata":{"name":"cluster%04[1]d","uid":"uid-%[1]d","resourceVersion":"1"},"spec":{"hubAcceptsClient":true},`+
			`"status":{"conditions":[{"type":"ManagedClusterConditionAvailable","status":"True","reason":"r","message":"m","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, i)
	})
	hub.Serve(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "Lease", true, 0, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	health := l.Addr().String()
	_ = l.Close() // frees the port for the binary
	began := time.Now()
	binary := testkit.StartBinary(b, hub.Config(), "--lease-namespace=default", "--page-bind-address=127.0.0.1:0", "--health-probe-bind-address="+health)
	testkit.Eventually(b, "the fleet to be read", func() error {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s %w", response.Status, strings.TrimSpace(string(body)), err)
		}
		return nil
	})
	took = time.Since(began)
	return binary.Heap(b), binary.Resident(), took
}
