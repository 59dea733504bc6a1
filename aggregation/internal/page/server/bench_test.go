// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/pagetest"
)

// large is a page over many rows, without its limits.
func large(b *testing.B, sets, clusters int) (*pagetest.Fleet, *Server) {
	b.Helper()
	fleet := pagetest.New()
	pagetest.Large(fleet, sets, clusters, noon)
	s, err := New(Options{
		Fleet: model.NewFleet(fleet), Applications: fleet, Identity: pagetest.NewTokens(map[string][]string{"all": nil}),
		Synced: func() bool { return true }, Log: logr.Discard(), Now: func() time.Time { return noon },
	})
	if err != nil {
		b.Fatal(err)
	}
	s.limits.user("all").requests = rate.NewLimiter(rate.Inf, 1)
	fleet.Changed = s.Changed
	return fleet, s
}

func ask(b *testing.B, s http.Handler, path string) {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer all")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != http.StatusOK {
		b.Fatalf("%s: %d: %s", path, w.Code, w.Body)
	}
}

// What a request costs with 20,000 rows, in a settled fleet and when one row has just changed.
func BenchmarkPage(b *testing.B) {
	for _, path := range []string{"/", "/apps?health=Degraded", "/apps?sort=name", "/sets/team-search/search-api", "/clusters", "/clusters/eu-west-01", "/errors", "/api/v1/matrix"} {
		for _, changing := range []bool{false, true} {
			b.Run(fmt.Sprintf("path=%s/changing=%t", path, changing), func(b *testing.B) {
				fleet, s := large(b, 1000, 20)
				handler := s.Handler()
				ask(b, handler, path)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if changing {
						fleet.Put(set("team-search", "search-api"), pagetest.Row{Name: "search-api-eu-west-01", Cluster: "eu-west-01", Revision: fmt.Sprint(n)})
					}
					ask(b, handler, path)
				}
			})
		}
	}
}

// One ApplicationSet of 10,000 rows: first page, filter, order.
func BenchmarkLargeSet(b *testing.B) {
	_, s := large(b, 1, 10_000)
	handler := s.Handler()
	for _, query := range []string{"", "?health=Healthy&q=eu-west", "?sort=name"} {
		b.Run("query="+query, func(b *testing.B) {
			for b.Loop() {
				ask(b, handler, "/sets/team-checkout/checkout-api"+query)
			}
		})
	}
}

// What is held for 20,000 rows with no page, one and ten open.
func BenchmarkHeldFor(b *testing.B) {
	for _, viewers := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("viewers=%d", viewers), func(b *testing.B) {
			for b.Loop() {
				_, s := large(b, 1000, 20)
				handler := s.Handler()
				before := heap()
				ctx, cancel := context.WithCancel(b.Context())
				for n := range viewers {
					ask(b, handler, "/")
					stream, err := s.hub.Open(fmt.Sprint(n), func(types.NamespacedName) bool { return true })
					if err != nil {
						b.Fatal(err)
					}
					go func() { _, _ = stream.Next(ctx) }()
				}
				b.ReportMetric(float64(int64(heap())-int64(before))/(1<<20), "MiB-held")
				runtime.KeepAlive(s)
				cancel()
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What a change of a report costs while no page is open.
func BenchmarkChangeWithoutViewers(b *testing.B) {
	_, s := large(b, 10, 20)
	key := set("team-search", "search-api")
	b.ReportAllocs()
	for b.Loop() {
		s.Changed(key)
	}
}
