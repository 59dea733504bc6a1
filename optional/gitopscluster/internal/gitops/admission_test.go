// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// If Argo CD's Namespace no longer admits a GitOpsCluster, its Secrets stay. The condition names the label,
// and nothing changes until the label is restored. The GitOpsCluster may still be deleted.
func TestAdmission_keepsTheSecretsWithoutTheLabel(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(3)
	decision := f.placement("all", clusters[:2]...)
	f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 2)
	admit := func(value string) {
		t.Helper()
		testkit.Edit(t, hub.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.argocd}}, func(n *corev1.Namespace) { n.Labels[intent.AdmitLabel] = value })
	}
	admit("false")
	at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonRegistrationNotAdmitted)
	if !strings.Contains(at.Status.Message, intent.AdmitLabel) || !strings.Contains(at.Status.Message, f.argocd) {
		t.Errorf("the message is %q", at.Status.Message)
	}
	f.decide(decision, clusters[2])
	probe := f.gitops("probe", "none", func(o *v1beta1.GitOpsCluster) { o.Namespace = f.argocd })
	f.says(probe, v1beta1.ConditionReady, metav1.ConditionFalse, reasonPlacementNotFound)
	f.registered(clusters[:2]...)
	admit("true")
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
	f.decide(decision, clusters...)
	f.ready(o, 3)
	admit("false")
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonRegistrationNotAdmitted)
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	f.gone(o)
	f.registered()
}

// Some objects of a GitOpsCluster may need a flag that gitopscluster runs without. The deletion then keeps
// the finalizer, and the condition names the flag.
func TestDeletion_namesTheFlagThatItTakes(t *testing.T) {
	f := newFleet(t)
	second := newFleet(t)
	clusters := f.clusters(2)
	f.placement("all", clusters...)
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 2)
	stop()

	both := []string{f.argocd, second.argocd}
	f.options.Namespaces = []string{second.argocd}
	_, stop = f.start()
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	f.leftover(o, "--argocd-namespace="+f.argocd)
	f.registered(clusters...)
	stop()

	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clusters[0]}})
	addOn := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{
		Namespace: clusters[0], Name: agent.AddOnName, Labels: map[string]string{agent.OwnedLabel: "true"},
		Annotations: map[string]string{contract.RegisteredByAnnotation: contract.RegisteredBy, agent.OwnerAnnotation: nameOf(o), agent.ArgoNamespaceAnnotation: f.argocd},
	}}
	f.create(addOn)
	f.options.Namespaces = both
	f.start()
	f.leftover(o, "--agents")
	if err := hub.client.Delete(context.Background(), addOn); err != nil {
		t.Fatal(err)
	}
	// The next pass may have released the GitOpsCluster before.
	touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"apps.open-cluster-management.io/touched":"true"}}}`))
	if err := hub.client.Patch(context.Background(), o, touch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	f.gone(o)
	f.registered()
}

// leftover waits until the deletion of a GitOpsCluster waits for a flag.
func (f *fleet) leftover(o *v1beta1.GitOpsCluster, flag string) {
	f.t.Helper()
	testkit.Eventually(f.t, "the deletion to wait for "+flag, func() error {
		at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDeleting)
		if !strings.Contains(at.Status.Message, flag) || !slices.Contains(at.Finalizers, intent.GitOpsClusterFinalizer) {
			return fmt.Errorf("finalizers %v, the message is %q", at.Finalizers, at.Status.Message)
		}
		return nil
	})
}

// Without --agents, the Secret of a cluster with an agent keeps its content. It stays even if the cluster
// leaves the Placement.
func TestSecret_keepsItsContentWithoutAgents(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(2)
	decision := f.placement("all", clusters...)
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 2)
	stop()
	testkit.Edit(t, hub.client, f.secrets(f.argocd)[clusters[0]], func(s *corev1.Secret) {
		s.Annotations[contract.ConfigDigestAnnotation] = "sha256:x"
		s.Data["server"] = []byte("https://proxy")
	})
	f.start()
	f.decide(decision, clusters[1])
	at := f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonAgentLeaving)
	if !strings.Contains(at.Status.Message, "--agents") {
		t.Errorf("the message is %q", at.Status.Message)
	}
	if s := f.secrets(f.argocd)[clusters[0]]; s == nil || string(s.Data["server"]) != "https://proxy" {
		t.Errorf("the Secret is %v", s)
	}
}

// An invalid spec does not block a deletion. An invalid annotation does, because its author may have tried
// to prevent the deletion.
func TestAgentSpec_ignoresAnInvalidSpecInADeletion(t *testing.T) {
	now := metav1.Now()
	deleted := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}
	for reason, want := range map[string]bool{intent.ReasonBadField: false, intent.ReasonAgentsNotAdmitted: false, intent.ReasonBadAnnotation: true} {
		in := intent.Intent{Refusal: &intent.Problem{Reason: reason}}
		if got := agentSpec(deleted, in, nil, nil).DryRun; got != want {
			t.Errorf("%s: agents stay %t, want %t", reason, got, want)
		}
		if !agentSpec(&v1beta1.GitOpsCluster{}, in, nil, nil).DryRun {
			t.Errorf("%s: agents of one that is not deleted leave", reason)
		}
	}
}
