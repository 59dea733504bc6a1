// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

func BenchmarkWork(b *testing.B) {
	w := work()
	b.ReportAllocs()
	for b.Loop() {
		if o := Work(w, up); o.Health != argocd.HealthHealthy {
			b.Fatal(o)
		}
	}
}

func BenchmarkWork_unreachable(b *testing.B) {
	w := work()
	b.ReportAllocs()
	for b.Loop() {
		if o := Work(w, down); !o.Stale() {
			b.Fatal(o)
		}
	}
}
