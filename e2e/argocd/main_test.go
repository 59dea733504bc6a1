// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	controller = "argocd-application-controller"
	// digest is on what was delivered.
	digest = "apps.open-cluster-management.io/argocd-digest"
)

var fleet *env.Fleet

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{
		Old: []string{"cluster2"}, Product: []string{env.Propagation}, NoArgoCD: true,
		Arguments: map[string][]string{env.GitOpsCluster: {"--binding-grace=1s"}, env.Propagation: {"--binding-grace=1s"}},
	}, prepare))
}

// prepare gives each managed cluster the rights that OCM gives a real one, and a kubelet.
func prepare(ctx context.Context, f *env.Fleet) error {
	fleet = f
	for _, c := range fleet.Managed {
		if err := c.ApplyFiles(ctx, "testdata/klusterlet.yaml"); err != nil {
			return err
		}
		go (&kubelet{cluster: c}).play(fleet.Context())
	}
	return nil
}

// kubelet plays what a fleet's cluster does not have: a scheduler for the pods of Deployments,
// and what makes a process of a StatefulSet.
type kubelet struct {
	cluster *env.Cluster
	started *env.Process
	failed  error
}

func (k *kubelet) play(ctx context.Context) {
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		k.bind(ctx)
		k.run(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (k *kubelet) bind(ctx context.Context) {
	var pods corev1.PodList
	if err := k.cluster.Client.List(ctx, &pods, client.InNamespace(env.ArgoCDNamespace)); err != nil {
		return
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName == "" && p.DeletionTimestamp.IsZero() {
			// One that is gone meanwhile needs no node.
			_ = k.cluster.Client.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: env.NodeName}})
		}
	}
}

// run has the process of the application controller run while its StatefulSet is there, and
// only says that it does when it answers its probe.
func (k *kubelet) run(ctx context.Context) {
	set := &appsv1.StatefulSet{}
	err := k.cluster.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: controller}, set)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return
	case err != nil && k.started != nil:
		_ = k.started.Stop(ctx)
		k.started = nil
		return
	case err != nil || k.failed != nil || set.Annotations[digest] == "":
		return // nothing that was delivered
	case k.started == nil:
		if k.failed = k.cluster.RunDelivered(ctx, fleet, set); k.failed != nil {
			os.Stderr.WriteString(k.cluster.Name + ": " + k.failed.Error() + "\n")
			return
		}
		k.started, _ = fleet.Process(k.cluster.Name + "-argocd")
	}
	if set.Status.ObservedGeneration == set.Generation {
		return
	}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, CurrentReplicas: 1, UpdatedReplicas: 1}
	_ = k.cluster.Client.Status().Update(ctx, set) // again at the next tick
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
