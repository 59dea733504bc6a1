// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The registration of clusters changes from gitopscluster to propagation and back while agents run. No object
// is written, in particular no cluster Secret.
func TestHandOver_writesNothingInEitherDirection(t *testing.T) {
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	before := versions(t)
	gitopscluster := program(t)
	propagation, err := fleet.Processes.Get(env.Propagation + "-0")
	must(t, err)

	must(t, gitopscluster.Stop(t.Context()))
	must(t, propagation.Stop(t.Context()))
	must(t, fleet.Hub.Install(t.Context(), testkit.Root())) // without components propagation may write Secrets
	registering, err := fleet.Product.StartStandby(t.Context(), env.Propagation, 1, "--register=true")
	must(t, err)
	// When this cluster is registered, propagation has also reconciled the earlier clusters.
	probe := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	must(t, hub.Create(t.Context(), probe))
	secret := func(want bool) {
		t.Helper()
		must(t, env.Wait(fleetContext(t), "the Secret of "+probe.Name, func(ctx context.Context) (bool, string) {
			err := hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: probe.Name + "-cluster-secret"}, &corev1.Secret{})
			if err == nil {
				return want, "it is there"
			}
			return !want && client.IgnoreNotFound(err) == nil, err.Error()
		}))
	}
	secret(true)
	if after := versions(t); !reflect.DeepEqual(before, after) {
		t.Errorf("to propagation: before %q, after %q", before, after)
	}
	must(t, hub.Delete(t.Context(), probe))
	secret(false)

	must(t, registering.Stop(t.Context()))
	must(t, fleet.Hub.Install(t.Context(), testkit.Root(), "gitopsclusters", "gitopsclusters-agent"))
	must(t, hub.Status().Patch(t.Context(), gitopsCluster(example, "v1beta1"), client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))))
	must(t, propagation.Start(t.Context()))
	must(t, gitopscluster.Start(t.Context()))
	ready(t, example, examplePlacement)
	if after := versions(t); !reflect.DeepEqual(before, after) {
		t.Errorf("back: before %q, after %q", before, after)
	}
}
