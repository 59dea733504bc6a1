// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"net/http"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
)

// baselineApplications is the most Applications of the baseline.
const baselineApplications = 1000

// mirrorBaseline times the patches that make Applications say a first status. The product
// watches Applications in all namespaces, so it must not run.
func (b *bench) mirrorBaseline(ctx context.Context, n int) error {
	at := simulate.ApplicationsIn(baselineNamespace(0))
	err := hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Create(ctx, at, simulate.BaselineApplication(baselineNamespace(0), baselineName(i)))
	})
	if err != nil {
		return err
	}
	status := simulate.ApplicationStatus(b.nextRevision())
	began := time.Now()
	err = hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Merge(ctx, at+"/"+baselineName(i), status)
	})
	if err != nil {
		return err
	}
	b.baseline.mirrored.add(n, time.Since(began))
	_, err = b.hub.Discard(ctx, http.MethodDelete, at, "", nil)
	return err
}
