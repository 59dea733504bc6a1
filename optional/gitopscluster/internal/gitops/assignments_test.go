// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// After its agent has left, a cluster stays released until a Placement selects it again. A stale cache
// that still has the agent or the Secret does not change that, and neither does an unreadable
// Placement. Otherwise the cluster would get another agent until the grace period ends.
func TestAssignments_keepReleasedClustersUntilSelected(t *testing.T) {
	r := &Reconciler{
		assignments: NewAssignments(""), options: Options{RemovalLimit: limit.Limit{Percent: 100, Least: 1}}, since: map[types.NamespacedName]map[string]time.Time{},
	}
	owner := types.NamespacedName{Namespace: "argocd", Name: "fleet"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.GitOpsClustersAnnotation: owner.String()}}}
	for _, step := range []struct {
		what          string
		selected, has bool
		problem       *intent.Problem
		want          bool
	}{
		{what: "it is selected", selected: true, has: true, want: true},
		{what: "its Placement is gone", has: true, problem: &intent.Problem{}, want: true},
		{what: "its agent is leaving", has: true, want: true},
		{what: "its agent has left"},
		{what: "its agent seems to be there", has: true},
		{what: "its Placement is gone again", has: true, problem: &intent.Problem{}},
		{what: "it is selected again", selected: true, want: true},
		{what: "its next agent is leaving", has: true, want: true},
		{what: "its next agent has left"},
	} {
		f := found{
			intent: intent.Intent{ArgoNamespace: "argocd"}, problem: step.problem, held: map[string]bool{"cluster1": true},
			secrets: map[string]*corev1.Secret{"cluster1": secret},
		}
		if step.selected {
			f.selected = map[string]*clusterv1.ManagedCluster{"cluster1": {}}
		}
		x := &member{object: &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}, found: f}
		x.desired, x.decision = r.holds(owner, f, time.Now())
		kept, err := r.keep(t.Context(), x, func(string) (own, another bool) { return step.has, false })
		if err != nil {
			t.Fatal(err)
		}
		released := map[string]bool{}
		if !kept["cluster1"] {
			released["cluster1"] = true
		}
		r.assignments.set(map[types.NamespacedName]assignment{owner: {"argocd", kept, released}}, agents.Off)
		if got := r.assignments.Want("argocd", "cluster1"); got.Registered != step.want {
			t.Errorf("%s: registered is %t", step.what, got.Registered)
		}
	}
}
