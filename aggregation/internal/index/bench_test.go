// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

func BenchmarkSetWork(b *testing.B) {
	for _, n := range []int{2_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := New(func(types.NamespacedName) {})
			var flips [2]*manifestcache.Work
			for i := range n {
				cluster := fmt.Sprintf("cluster-%05d", i/10)
				x.SetCluster(available(cluster))
				set := types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("set-%d", i%10)}
				w := manifestWork(set, cluster, set.Name+"-"+cluster, shows("Healthy", "Synced"))
				x.SetWork(compact(b, w))
				if i == n/2 {
					flips[0] = compact(b, w)
					flips[1] = compact(b, manifestWork(set, cluster, set.Name+"-"+cluster, shows("Degraded", "Synced")))
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.SetWork(flips[i%2])
			}
		})
	}
}

func BenchmarkCompact(b *testing.B) {
	w := manifestWork(guestbook, "cluster-00001", "guestbook-cluster-00001", shows("Healthy", "Synced"))
	b.ReportAllocs()
	for b.Loop() {
		compact(b, w)
	}
}

// BenchmarkMemory reports the memory of one Application: its ManifestWork in the cache, its entry and its
// row. The ManifestWorks are decoded from JSON, so they share no memory, like those from the API server.
func BenchmarkMemory(b *testing.B) {
	const n = 20_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		x := New(func(types.NamespacedName) {})
		for i := range n {
			cluster := fmt.Sprintf("cluster-%05d", i/10)
			x.SetCluster(available(cluster))
			set := types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("set-%d", i%10)}
			says := shows("Healthy", "Synced")
			says[contract.FeedbackOperationStartedAt] = fmt.Sprintf("2026-11-20T10:%02d:%02dZ", i/60%60, i%60)
			data, err := json.Marshal(manifestWork(set, cluster, set.Name+"-"+cluster, says))
			if err != nil {
				b.Fatal(err)
			}
			var w workv1.ManifestWork
			if err := json.Unmarshal(data, &w); err != nil {
				b.Fatal(err)
			}
			c := compact(b, &w)
			if err := store.Add(c); err != nil {
				b.Fatal(err)
			}
			x.SetWork(c)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/Application")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB/20000")
		runtime.KeepAlive(store)
		runtime.KeepAlive(x)
	}
}
