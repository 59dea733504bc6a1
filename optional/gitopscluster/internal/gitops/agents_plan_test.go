// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// counted counts planned or actual writes by verb, kind and name. The path of a create request has no name.
// Status writes do not count, and neither does a patch of an object that the plan creates or deletes.
func counted(writes []string, plan []string) map[string]int {
	whole := map[string]bool{}
	for _, line := range plan {
		for _, verb := range []string{"create ", "delete "} {
			if object, is := strings.CutPrefix(line, verb); is {
				whole["patch "+object] = true
			}
		}
	}
	count := map[string]int{}
	for _, w := range writes {
		w = strings.Replace(w, "restart ", "patch ", 1)
		switch {
		case strings.Contains(w, "/status "), whole[w]:
			continue
		case strings.HasPrefix(w, "patch "):
			count[w] = 1 // a stale cache may repeat the same patch, which changes nothing
			continue
		case strings.HasPrefix(w, "create "):
			w = strings.Join(strings.Fields(w)[:2], " ")
		}
		count[w]++
	}
	return count
}

// agentPlan waits until the plan of a dry run has these lines, and returns the plan.
func (f *fleet) agentPlan(o *v1beta1.GitOpsCluster, reason string, wants ...string) []string {
	f.t.Helper()
	var plan []string
	testkit.Eventually(f.t, "the plan", func() error {
		at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, reason)
		plan = lines(at.Status.Plan)
		for _, want := range wants {
			if !slices.Contains(plan, want) {
				return fmt.Errorf("no %q in\n%s", want, strings.Join(plan, "\n"))
			}
		}
		return nil
	})
	return plan
}

// A dry run writes nothing for agents, and lists the writes of the real run. This applies to creation and
// deletion. A preview by the command line gives the same plan.
func TestDryRun_writesNothingForAgents(t *testing.T) {
	f, ctx := newFleet(t), context.Background()
	f.withPrincipal()
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	record, _ := f.start()
	dry := func(o *v1beta1.GitOpsCluster) { o.Annotations = map[string]string{intent.DryRunAnnotation: "true"} }
	wet := func(o *v1beta1.GitOpsCluster) { o.Annotations = nil }
	o := f.gitops("fleet", "all", withAgent, dry)
	secret := f.argocd + "/" + cluster + "-cluster-secret"
	plan := f.agentPlan(o, intent.ReasonDryRun, "create secrets "+f.argocd+"/argocd-agent-ca", "create secrets "+certificates.DefaultKeyNamespace+"/"+certificates.KeyName(f.argocd), "create secrets "+secret, "create manifestworks "+cluster+"/"+agent.WorkName, "patch appprojects "+f.argocd+"/default")
	for _, w := range record.written() {
		if !strings.HasPrefix(w, "patch gitopsclusters/status ") {
			t.Errorf("a dry run wrote %s", w)
		}
	}
	status, err := Preview(ctx, hub.client, o, f.options)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, lines(status.Plan)); diff != "" || status.Principal == nil || status.Principal.Address != "192.0.2.1" {
		t.Errorf("the preview (-on the hub +from outside), principal %+v:\n%s", status.Principal, diff)
	}

	from := len(record.written())
	testkit.Edit(t, hub.client, o, wet)
	testkit.Eventually(t, "what was planned", func() error {
		if s := f.secrets(f.argocd)[cluster]; s == nil || !strings.Contains(string(s.Data["server"]), "agentName=") {
			return errors.New("the cluster's Secret has no agent")
		}
		if err := hub.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, &workv1.ManifestWork{}); err != nil {
			return err
		}
		if diff := cmp.Diff(counted(plan, plan), counted(record.written()[from:], plan)); diff != "" {
			return fmt.Errorf("(-planned +done):\n%s", diff)
		}
		return nil
	})

	testkit.Edit(t, hub.client, o, dry)
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDryRun)
	if err := hub.client.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	plan = f.agentPlan(o, intent.ReasonDeleting, "delete secrets "+secret, "delete manifestworks "+cluster+"/"+agent.WorkName, "delete secrets "+f.argocd+"/argocd-agent-ca")
	f.registered(cluster)
	from = len(record.written())
	testkit.Edit(t, hub.client, o, wet)
	keyGone(t, cluster)
	f.gone(o)
	f.gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "argocd-agent-ca"}})
	f.gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: certificates.DefaultKeyNamespace, Name: certificates.KeyName(f.argocd)}})
	done := counted(record.written()[from:], plan)
	maps.DeleteFunc(done, func(w string, _ int) bool { return strings.HasPrefix(w, "patch gitopsclusters ") })
	want := counted(plan, plan)
	maps.DeleteFunc(want, func(w string, _ int) bool { return strings.HasPrefix(w, "patch gitopsclusters ") })
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("end (-planned +done):\n%s", diff)
	}
}

// The plan of a younger GitOpsCluster does not take the agent of an older one.
func TestPlan_keepsTheAgentOfAnOlderGitOpsCluster(t *testing.T) {
	f, ctx := newFleet(t), context.Background()
	f.withPrincipal()
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	f.start()
	f.gitops("older", "all", withAgent)
	testkit.Eventually(t, "the older one's agent", func() error {
		return hub.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, &workv1.ManifestWork{})
	})
	o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "younger", CreationTimestamp: metav1.Now()}}
	o.Spec.ArgoServer = &v1beta1.ArgoServerSpec{ArgoNamespace: f.argocd}
	o.Spec.PlacementRef = corev1.ObjectReference{Kind: "Placement", Name: "all"}
	withAgent(o)
	status, err := Preview(ctx, hub.client, o, f.options)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines(status.Plan) {
		if strings.Contains(line, agent.AddOnName) || strings.Contains(line, "delete") {
			t.Errorf("it would %s", line)
		}
	}
	for _, c := range status.Conditions {
		if c.Type == v1beta1.ConditionAgentsDeployed && c.Reason != reasonClustersConflict {
			t.Errorf("the condition is %+v", c)
		}
	}
}
