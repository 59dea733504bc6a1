// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// These are the GitOpsClusters, each with the Placement that it names.
const (
	example          = "fleet-agent"
	examplePlacement = "guestbook"
	elsewhere        = "elsewhere"
)

// said is the status of a GitOpsCluster.
type said struct {
	Phase, Message   string
	Clusters         struct{ Selected, Registered, Deployed, Connected, Leaving, Taken int }
	Principal        struct{ Address, Source, Image, Version string }
	Waiting, Leaving []wait
	Conditions       []metav1.Condition
}

// wait is the step that gitopscluster waits for on a cluster.
type wait struct{ Cluster, For string }

// is reports whether a condition has a status and a reason.
func (s said) is(condition string, status metav1.ConditionStatus, reason string) bool {
	c := meta.FindStatusCondition(s.Conditions, condition)
	return c != nil && c.Status == status && c.Reason == reason
}

func gitopsCluster(name, version string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apps.open-cluster-management.io/" + version)
	o.SetKind("GitOpsCluster")
	o.SetNamespace(env.ArgoCDNamespace)
	o.SetName(name)
	return o
}

// statusOf reads the status of a GitOpsCluster through one of its versions.
func statusOf(ctx context.Context, name, version string) (s said, err error) {
	o := gitopsCluster(name, version)
	if err := hub.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return s, err
	}
	content, err := json.Marshal(o.Object["status"])
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(content, &s)
}

// await waits until the status of a GitOpsCluster passes check, and returns that status.
func await(t *testing.T, what, name string, check func(said) bool) (last said) {
	t.Helper()
	must(t, env.Wait(fleetContext(t), fmt.Sprintf("%s of GitOpsCluster %s", what, name), func(ctx context.Context) (bool, string) {
		var err error
		last, err = statusOf(ctx, name, "v1beta1")
		return err == nil && check(last), fmt.Sprintf("%+v %v", last, err)
	}))
	return last
}

// selects makes one Placement select a cluster, or none for "".
func selects(t *testing.T, c *env.Cluster, placement string) {
	t.Helper()
	label := "null"
	if placement != "" {
		label = fmt.Sprintf("%q", placement)
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"placement":%s}}}`, label)
	must(t, hub.Patch(t.Context(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// delivered delivers the agent to a cluster and waits until it is connected, whatever test ran before.
func delivered(t *testing.T, c *env.Cluster) said {
	t.Helper()
	objects, err := env.ReadObjects(scenario.Examples("gitopscluster/v1alpha1.yaml"))
	must(t, err)
	for _, o := range objects {
		o.SetAnnotations(map[string]string{"apps.open-cluster-management.io/live-view": "true"})
	}
	must(t, fleet.Hub.Apply(t.Context(), objects...))
	selects(t, c, examplePlacement)
	s := ready(t, example, examplePlacement)
	forget(t, c)
	return s
}

// ready waits until a GitOpsCluster has an agent on each cluster with the Placement's label, and nothing else
// is pending.
func ready(t *testing.T, name, placement string) said {
	t.Helper()
	var clusters clusterv1.ManagedClusterList
	must(t, hub.List(t.Context(), &clusters, client.MatchingLabels{"placement": placement}))
	n := len(clusters.Items)
	return await(t, "every agent", name, func(s said) bool {
		return meta.IsStatusConditionTrue(s.Conditions, "Ready") && s.Clusters.Selected == n && s.Clusters.Connected == n && len(s.Leaving) == 0
	})
}

// forget deletes the signed requests of a cluster, as the hub does after an hour. No real cluster requests as
// many certificates in an hour as these tests.
func forget(t *testing.T, c *env.Cluster) {
	t.Helper()
	for _, csr := range requests(t, c) {
		if len(csr.Status.Certificate) > 0 {
			must(t, client.IgnoreNotFound(hub.Delete(t.Context(), &csr)))
		}
	}
}

// requests returns the requests for certificates with the label of a cluster.
func requests(t *testing.T, c *env.Cluster) (found []certificatesv1.CertificateSigningRequest) {
	t.Helper()
	var list certificatesv1.CertificateSigningRequestList
	must(t, hub.List(t.Context(), &list, client.MatchingLabels{"open-cluster-management.io/cluster-name": c.Name}))
	for i := range list.Items {
		if list.Items[i].Spec.SignerName == signer {
			found = append(found, list.Items[i])
		}
	}
	return found
}

// leave deselects a cluster, and waits until its cluster Secret is deleted, which is the last step.
func leave(t *testing.T, c *env.Cluster) {
	t.Helper()
	selects(t, c, "")
	must(t, env.Wait(fleetContext(t), "the end of Secret "+clusterSecret(c), func(ctx context.Context) (bool, string) {
		err := hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: clusterSecret(c)}, &corev1.Secret{})
		s, _ := statusOf(ctx, example, "v1beta1")
		return apierrors.IsNotFound(err), fmt.Sprintf("%v %+v", err, s)
	}))
}
