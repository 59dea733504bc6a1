// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
)

// large returns a page over many rows without request limits. Its clock advances by a second with each
// request.
func large(b *testing.B, fleet *model.Fleet) *Server {
	b.Helper()
	now := noon
	s, err := New(Options{
		Fleet: fleet, Identity: pagetest.NewTokens(map[string][]string{"all": nil}), Resources: pagetest.Resources,
		Synced: func() bool { return true }, Leases: func() []model.Lease { return nil }, Log: logr.Discard(),
		Now: func() time.Time { now = now.Add(model.Interval); return now },
	})
	if err != nil {
		b.Fatal(err)
	}
	s.limits.user("all").requests = rate.NewLimiter(rate.Inf, 1)
	return s
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

// BenchmarkPage measures a request with 20,000 rows, in an unchanged fleet and after a change of one row.
func BenchmarkPage(b *testing.B) {
	for _, path := range []string{"/", "/apps?health=Degraded", "/apps?sort=name", "/sets/team-search/search-api", "/clusters", "/clusters/eu-west-01", "/errors", "/api/v1/matrix"} {
		for _, changing := range []bool{false, true} {
			b.Run(fmt.Sprintf("path=%s/changing=%t", path, changing), func(b *testing.B) {
				fleet := pagetest.Large(1000, 20, noon)
				handler := large(b, fleet).Handler()
				ask(b, handler, path)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if changing {
						fleet.Put(pagetest.App(set("team-search", "search-api"), pagetest.Row{Name: "search-api-eu-west-01", Cluster: "eu-west-01", Revision: fmt.Sprint(n)}))
					}
					ask(b, handler, path)
				}
			})
		}
	}
}

// BenchmarkLargeSet measures the page of one ApplicationSet with 10,000 rows: first page, filter, order.
func BenchmarkLargeSet(b *testing.B) {
	handler := large(b, pagetest.Large(1, 10_000, noon)).Handler()
	for _, query := range []string{"", "?health=Healthy&q=eu-west", "?sort=name"} {
		b.Run("query="+query, func(b *testing.B) {
			for b.Loop() {
				ask(b, handler, "/sets/team-checkout/checkout-api"+query)
			}
		})
	}
}

// BenchmarkHeld reports the memory for 20,000 Applications, before and after a page was open. The rest of
// the process does not count.
func BenchmarkHeld(b *testing.B) {
	for b.Loop() {
		empty := heap()
		fleet := pagetest.Large(1000, 20, noon)
		read := heap()
		handler := large(b, fleet).Handler()
		ask(b, handler, "/")
		ask(b, handler, "/api/v1/matrix")
		b.ReportMetric(float64(int64(read)-int64(empty))/(1<<20), "MiB-read")
		b.ReportMetric(float64(int64(heap())-int64(read))/(1<<20), "MiB-open")
		runtime.KeepAlive(fleet)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkChange measures a change while no page is open.
func BenchmarkChange(b *testing.B) {
	fleet := pagetest.Large(1000, 20, noon)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		fleet.Put(pagetest.App(set("team-search", "search-api"), pagetest.Row{Name: "search-api-eu-west-01", Cluster: "eu-west-01", Revision: fmt.Sprint(n)}))
	}
}
