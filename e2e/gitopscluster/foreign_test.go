// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// leave takes the agent off a cluster.
func leave(t *testing.T, c *env.Cluster) {
	t.Helper()
	ask(t, c.Name, func(q *question) { q.Leave = true })
	await(t, "the departure", c.Name, func(a answer) bool { return a.Done && a.Error == "" })
}

// What another installer of argocd-agent left on a managed cluster is neither changed nor
// removed, and the hub hears of it in the work agent's words.
func TestForeignObjectOnTheCluster(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		leave(t, c)
		foreign := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-agent-ca"}, Data: map[string][]byte{"ca.crt": []byte("of somebody else")},
		}
		must(t, c.Client.Create(t.Context(), foreign, client.FieldOwner("another-installer")))
		t.Cleanup(func() {
			if err := c.Client.Delete(context.WithoutCancel(t.Context()), foreign); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
		ask(t, c.Name, func(q *question) { q.Leave = false })
		state := await(t, "the conflict", c.Name, func(a answer) bool { return a.Reason == "WorkNotApplied" && strings.Contains(a.Message, "conflict") })
		if !strings.Contains(state.Message, "argocd-agent-ca") || !strings.Contains(state.Message, "another-installer") || state.Connected {
			t.Errorf("the hub says %q, connected: %t", state.Message, state.Connected)
		}
		leave(t, c)
		after := read(t, c.Client, "argocd", "argocd-agent-ca", &corev1.Secret{})
		if after.UID != foreign.UID || string(after.Data["ca.crt"]) != "of somebody else" || owners(after) != 0 {
			t.Errorf("the other installer's Secret was touched: %q, %d owners", after.Data["ca.crt"], owners(after))
		}
		must(t, c.Client.Delete(t.Context(), foreign))
	})
}

// The agent's namespace is made with the rest, although the registration agent may be
// there first with its Secret; and it stays.
func TestNewNamespace(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		const namespace = "agents"
		leave(t, c)
		ask(t, c.Name, func(q *question) { q.AgentNamespace = namespace })
		go bindIn(fleetContext(t), c, namespace)
		delivered(t, c)
		if s := read(t, c.Client, namespace, clientSecret, &corev1.Secret{}); len(s.Data["tls.key"]) == 0 {
			t.Error("the client certificate's Secret has no key")
		}
		leave(t, c)
		if exists(t, c.Client, namespace, clientSecret, &corev1.Secret{}) || !exists(t, c.Client, "", namespace, &corev1.Namespace{}) {
			t.Error("the key is still there, or the namespace is not")
		}
		ask(t, c.Name, func(q *question) { q.AgentNamespace = "argocd" })
	})
}
