// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/standin"
)

func connected(a answer) bool { return a.Connected && a.WaitingFor == "" && a.Error == "" }

// delivered has the agent on a cluster, whatever test ran before.
func delivered(t *testing.T, c *env.Cluster) answer {
	t.Helper()
	ask(t, c.Name, func(q *question) { q.Leave, q.Abandoned = false, false })
	return await(t, "the agent to be connected", c.Name, func(a answer) bool {
		return connected(a) && a.Certificate != nil && a.Certificate.Generation == asked[c.Name].Generation
	})
}

// From the registration agent's request to a Deployment that runs with the certificate.
func TestAgentIsDelivered(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		state := delivered(t, c)
		pair := keyPair(t, c)
		certificate := parse(t, pair.Data["tls.crt"])
		if pair.Type != corev1.SecretTypeOpaque || len(pair.Data["tls.key"]) == 0 || owners(pair) != 0 {
			t.Errorf("the client certificate's Secret is of type %s with %d keys and %d owners", pair.Type, len(pair.Data), owners(pair))
		}
		if s := certificate.Subject; s.CommonName != c.Name || len(s.Organization) != 1 || !strings.HasPrefix(s.Organization[0], "g") {
			t.Errorf("the client certificate is for %s", s)
		}
		d := deployment(t, c)
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image || state.Image != image {
			t.Errorf("image %s runs, %s is reported", got, state.Image)
		}
		hubCA := read(t, hub, "argocd", "argocd-agent-ca", &corev1.Secret{})
		if ca := read(t, c.Client, "argocd", "argocd-agent-ca", &corev1.Secret{}); len(ca.Data) != 1 || !bytes.Equal(ca.Data["ca.crt"], hubCA.Data["ca.crt"]) {
			t.Errorf("the managed cluster's CA has %d keys", len(ca.Data))
		}
		if n := read(t, c.Client, "", "argocd", &corev1.Namespace{}); owners(n) != 0 {
			t.Error("the namespace would go with the work")
		}
		if b := read(t, c.Client, "", "mci-argocd-agent-live-view", &rbacv1.ClusterRoleBinding{}); b.RoleRef.Name != "view" {
			t.Errorf("the live view reads as %s", b.RoleRef.Name)
		}
		if a := read(t, hub, c.Name, addOnName, &addonv1alpha1.ManagedClusterAddOn{}); a.Status.Namespace != "argocd" {
			t.Errorf("the add-on's namespace is %s", a.Status.Namespace)
		}
	})
}

// The principal, as far as TLS goes, knows each cluster by its certificate, and no
// cluster by that of another CA.
func TestPrincipalKnowsTheCluster(t *testing.T) {
	secret := func(name string) map[string][]byte { return read(t, hub, "argocd", name, &corev1.Secret{}).Data }
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	server, err := standin.Start(secret("argocd-agent-ca"), secret("argocd-agent-principal-tls"), standin.Auth, nil)
	must(t, err)
	defer server.Close() // nothing was written
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		pair := keyPair(t, c)
		agent := standin.Agent{
			Roots: read(t, c.Client, "argocd", "argocd-agent-ca", &corev1.Secret{}).Data["ca.crt"], Certificate: pair.Data["tls.crt"], Key: pair.Data["tls.key"],
		}
		name, err := agent.Dial(server.Address(), address, nil)
		if err != nil || name != c.Name {
			t.Errorf("the principal takes %s for %q, %v", c.Name, name, err)
		}
		if name, err := agent.Dial(server.Address(), "elsewhere.example.com", nil); err == nil {
			t.Errorf("a principal of another name was believed, and answered %q", name)
		}
	})
}

// A raised generation renews the key, and restarts the agent once.
func TestRenewal(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		before, rolled := keyPair(t, c), deployment(t, c).Generation
		ask(t, c.Name, func(q *question) { q.Generation++ })
		delivered(t, c)
		after := keyPair(t, c)
		if bytes.Equal(before.Data["tls.key"], after.Data["tls.key"]) || parse(t, after.Data["tls.crt"]).Subject.Organization[0] == parse(t, before.Data["tls.crt"]).Subject.Organization[0] {
			t.Error("the key was not renewed")
		}
		if d := deployment(t, c); d.Generation != rolled+1 {
			t.Errorf("the Deployment was changed %d times", d.Generation-rolled)
		}
	})
}

// A restart over a settled fleet changes nothing.
func TestRestart(t *testing.T) {
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	versions := func() (all []string) {
		for _, c := range fleet.Managed {
			w := work(t, c)
			all = append(all, w.Annotations["apps.open-cluster-management.io/client-certificate"], string(rune('0'+w.Generation)), deployment(t, c).ResourceVersion,
				read(t, hub, c.Name, addOnName, &addonv1alpha1.ManagedClusterAddOn{}).ResourceVersion)
		}
		return all
	}
	before := versions()
	must(t, rooms.Stop(t.Context()))
	must(t, removeSaid())
	must(t, rooms.Start(t.Context()))
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	if after := versions(); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("before %q, after %q", before, after)
	}
}
