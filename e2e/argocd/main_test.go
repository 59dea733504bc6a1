// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

var fleet *env.Fleet

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{
		Old: []string{"cluster2"}, Product: []string{env.Propagation}, NoArgoCD: true,
		Arguments: map[string][]string{env.GitOpsCluster: {"--binding-grace=1s"}, env.Propagation: {"--binding-grace=1s"}},
	}, prepare))
}

// prepare makes the namespace of the guestbook.
func prepare(ctx context.Context, f *env.Fleet) error {
	fleet = f
	for _, c := range fleet.Managed {
		if err := c.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "guestbook"}}); err != nil {
			return err
		}
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
