// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bufio"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A change of content on 2,500 clusters in 25 groups, without a rollout and with one: processor of
// propagation and of rollout for each cluster, and what they request at rest. With -short it is a
// tenth of the clusters.
func BenchmarkChange(b *testing.B) {
	groups := make([]int, 25)
	for i := range groups {
		if groups[i] = 100; testing.Short() {
			groups[i] = 10
		}
	}
	for b.Loop() {
		f := newFleet(b, groups...)
		f.runs("the first delivery", func(_ int, _, v string) bool { return v == "r0" })
		f.quiet()
		change := func(path string) (propagation, controller float64) {
			p, c := f.binaries[0].metric("process_cpu_seconds_total"), f.binaries[1].metric("process_cpu_seconds_total")
			f.content(path)
			f.runs("the change to be everywhere", func(_ int, p, _ string) bool { return p == path })
			f.quiet()
			return f.binaries[0].metric("process_cpu_seconds_total") - p, f.binaries[1].metric("process_cpu_seconds_total") - c
		}
		without, _ := change("p1")
		f.adopt()
		f.quiet()
		with, controller := change("p2")
		f.becomes("it to be promoted", func(s *rollout.Status) bool { return s.Phase == rollout.Idle && s.Promoted.Number == 2 })
		f.quiet()
		requests := f.binaries[0].metric("rest_client_requests_total") + f.binaries[1].metric("rest_client_requests_total")
		end := time.Now().Add(30 * time.Second)
		testkit.Until(b, "half a minute to pass", func() bool { return time.Now().After(end) })
		requests = f.binaries[0].metric("rest_client_requests_total") + f.binaries[1].metric("rest_client_requests_total") - requests
		n := float64(len(f.clusters))
		b.ReportMetric(1000*without/n, "ms/cluster-without")
		b.ReportMetric(1000*with/n, "ms/cluster-with")
		b.ReportMetric(1000*controller/n, "ms/cluster-controller")
		b.ReportMetric((with+controller)/without, "ratio")
		b.ReportMetric(requests, "requests-at-rest")
	}
}

// quiet waits until propagation and rollout have used next to no processor for some seconds.
func (f *fleet) quiet() {
	f.t.Helper()
	used := func() float64 {
		return f.binaries[0].metric("process_cpu_seconds_total") + f.binaries[1].metric("process_cpu_seconds_total")
	}
	since, last := time.Now(), used()
	testkit.Until(f.t, "nothing to be done", func() bool {
		if now := used(); now-last > 0.4 {
			since, last = time.Now(), now
		}
		return time.Since(since) > 4*time.Second
	})
}

// metric returns the sum over the series of a metric of a binary.
func (b *binary) metric(name string) (sum float64) {
	b.t.Helper()
	response, err := http.Get("http://" + b.metrics + "/metrics")
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, name) && !strings.HasPrefix(line, name+"_") {
			value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				b.t.Fatal(err)
			}
			sum += value
		}
	}
	return sum
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
