// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// between is how long one cluster must run a version before the next one gets it.
const between = 3 * time.Second

var fleet *env.Fleet

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{
		Old: []string{"cluster2"}, Product: []string{env.Propagation}, NoArgoCD: true, AddOnManager: true,
		Arguments: map[string][]string{env.Propagation: {"--binding-grace=1s"}},
	}, prepare))
}

// prepare creates the namespace of the guestbook, and offers an Argo CD that no cluster selects yet.
func prepare(ctx context.Context, f *env.Fleet) error {
	fleet = f
	for _, c := range fleet.Managed {
		if err := c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workload}}); err != nil {
			return err
		}
	}
	return scenario.OfferArgoCD(ctx, fleet.Hub, between)
}
