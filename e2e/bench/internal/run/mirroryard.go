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

// yardApplications is the most Applications of the yardstick.
const yardApplications = 1000

// mirrorYard times the patches that make Applications say a first status. The product
// watches Applications in all namespaces, so it must not run.
func (b *bench) mirrorYard(ctx context.Context, n int) error {
	at := simulate.ApplicationsIn(yardNamespace(0))
	err := hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Create(ctx, at, simulate.YardApplication(yardNamespace(0), yardName(i)))
	})
	if err != nil {
		return err
	}
	status := simulate.ApplicationStatus(b.nextRevision())
	began := time.Now()
	err = hub.Parallel(ctx, n, func(ctx context.Context, i int) error {
		return b.hub.Merge(ctx, at+"/"+yardName(i), status)
	})
	if err != nil {
		return err
	}
	b.yard.mirrored.add(n, time.Since(began))
	_, err = b.hub.Discard(ctx, http.MethodDelete, at, "", nil)
	return err
}
