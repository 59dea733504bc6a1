// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// gitopscluster neither changes nor removes the objects of another installer of argocd-agent on a managed
// cluster. The hub shows the conflict that the work agent reports.
func TestConflict_keepsTheForeignObject(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		leave(t, c)
		foreign := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "argocd-agent-ca"}, Data: map[string][]byte{"ca.crt": []byte("of somebody else")},
		}
		must(t, c.Client.Create(t.Context(), foreign, client.FieldOwner("another-installer")))
		t.Cleanup(func() {
			if err := c.Client.Delete(context.WithoutCancel(t.Context()), foreign); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
		selects(t, c, examplePlacement)
		s := await(t, "the conflict on "+c.Name, example, func(s said) bool {
			deployed := meta.FindStatusCondition(s.Conditions, "AgentsDeployed")
			return deployed != nil && deployed.Reason == "WorkNotApplied" && strings.Contains(deployed.Message, "conflict")
		})
		message := meta.FindStatusCondition(s.Conditions, "AgentsDeployed").Message
		if !strings.Contains(message, c.Name) || !strings.Contains(message, "argocd-agent-ca") || !strings.Contains(message, "another-installer") {
			t.Errorf("the hub says %q", message)
		}
		if s.is("Ready", metav1.ConditionTrue, "AsExpected") || len(s.Waiting) != 1 || s.Waiting[0].Cluster != c.Name {
			t.Errorf("waiting %+v, conditions %+v", s.Waiting, s.Conditions)
		}
		leave(t, c)
		after := read(t, c.Client, env.ArgoCDNamespace, "argocd-agent-ca", &corev1.Secret{})
		if after.UID != foreign.UID || string(after.Data["ca.crt"]) != "of somebody else" || owners(after) != 0 {
			t.Errorf("the other installer's Secret was touched: %q, %d owners", after.Data["ca.crt"], owners(after))
		}
		must(t, c.Client.Delete(t.Context(), foreign))
	})
}

// The agent's namespace is created with the agent, although the registration agent may need it first for its
// Secret. The namespace stays after the agent.
func TestNamespace_staysAfterTheAgent(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		const namespace = "agents"
		leave(t, c)
		must(t, fleet.Hub.ApplyFiles(t.Context(), "testdata/elsewhere.yaml"))
		selects(t, c, elsewhere)
		ready(t, elsewhere, elsewhere)
		if s := read(t, c.Client, namespace, clientSecret, &corev1.Secret{}); len(s.Data["tls.key"]) == 0 {
			t.Error("the client certificate's Secret has no key")
		}
		must(t, hub.Delete(t.Context(), gitopsCluster(elsewhere, "v1alpha1")))
		gone(t, elsewhere)
		selects(t, c, "")
		if exists(t, c.Client, namespace, clientSecret, &corev1.Secret{}) || !exists(t, c.Client, "", namespace, &corev1.Namespace{}) {
			t.Error("the key is still there, or the namespace is not")
		}
	})
}
