// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"strings"
	"testing"
)

func BenchmarkNewRow(b *testing.B) {
	a := App{
		HubNamespace: "argocd", HubName: "guestbook-cluster-00001", Cluster: "cluster-00001", Work: "guestbook-cluster-00001-0a1b2",
		Health: "Healthy", Sync: "Synced", Revision: "53e28ff20cc530b9ada2173fbbd64d48338583ba", OperationPhase: "Succeeded", OperationStartedAt: "2026-11-20T10:00:00Z",
	}
	b.ReportAllocs()
	for b.Loop() {
		NewRow(a, Search{})
	}
}

func BenchmarkTruncate(b *testing.B) {
	message := strings.Repeat("e", 512)
	for name, rows := range map[string][]*Row{
		"200 fit":          fleet(200, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
		"2000 fit":         fleet(2000, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
		"10000 x 512 cut":  fleet(10_000, func(int) (string, string, string) { return "Degraded", "OutOfSync", message }),
		"10000 leave some": fleet(10_000, func(int) (string, string, string) { return "Healthy", "Synced", "" }),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Truncate(rows, ResourceList{}, mebibyte)
			}
		})
	}
}
