// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// BenchmarkStatusPatch compares an observation with a status: once with an equal one, as after a restart, and
// once with another revision.
func BenchmarkStatusPatch(b *testing.B) {
	observed := status.Nothing()
	observed.Health, observed.Sync, observed.Revision = argocd.HealthHealthy, argocd.SyncSynced, "53e28ff20cc530b9ada2173fbbd64d48338583ba"
	now := time.Unix(1_000_000_000, 0)
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
	first, err := statusPatch(app, observed, request.Run{}, "", now)
	if err != nil {
		b.Fatal(err)
	}
	var written struct{ Status json.RawMessage }
	if err := json.Unmarshal(first, &written); err != nil {
		b.Fatal(err)
	}
	app.Status = written.Status
	changed := observed
	changed.Revision = "0000000000000000000000000000000000000000"
	for name, c := range map[string]struct {
		observed status.Observation
		writes   bool
	}{"same": {observed, false}, "changed": {changed, true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				patch, err := statusPatch(app, c.observed, request.Run{}, "", now)
				if err != nil || (patch != nil) != c.writes {
					b.Fatalf("patch %s, %v", patch, err)
				}
			}
		})
	}
}
