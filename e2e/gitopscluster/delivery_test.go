// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// A GitOpsCluster and a Placement deliver an agent to each cluster. Its Deployment runs with the certificate
// that the registration agent requested.
func TestAgent_isDelivered(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		pair := keyPair(t, c)
		if pair.Type != corev1.SecretTypeOpaque || len(pair.Data["tls.key"]) == 0 || owners(pair) != 0 {
			t.Errorf("the client certificate's Secret is of type %s with %d keys and %d owners", pair.Type, len(pair.Data), owners(pair))
		}
		certificate := held(t, c)
		if certificate.Subject.CommonName != c.Name || !strings.HasPrefix(generation(t, certificate), "g") {
			t.Errorf("the client certificate is for %s", certificate.Subject)
		}
		if d := deployment(t, c); d.Spec.Template.Spec.Containers[0].Image != image || d.Status.AvailableReplicas != 1 {
			t.Errorf("%d pods of image %s are available", d.Status.AvailableReplicas, d.Spec.Template.Spec.Containers[0].Image)
		}
		hubCA := read(t, hub, env.ArgoCDNamespace, "argocd-agent-ca", &corev1.Secret{})
		ca := read(t, c.Client, env.ArgoCDNamespace, "argocd-agent-ca", &corev1.Secret{})
		if len(hubCA.Data["tls.key"]) > 0 {
			t.Error("the CA's key is where the principal can read it")
		}
		if len(ca.Data) != 1 || !bytes.Equal(ca.Data["ca.crt"], hubCA.Data["ca.crt"]) {
			t.Errorf("the managed cluster's CA has %d keys", len(ca.Data))
		}
		if err := certificate.CheckSignatureFrom(parse(t, hubCA.Data["tls.crt"])); err != nil {
			t.Errorf("the client certificate: %v", err)
		}
		if n := read(t, c.Client, "", env.ArgoCDNamespace, &corev1.Namespace{}); owners(n) != 0 {
			t.Error("the namespace would go with the work")
		}
		if b := read(t, c.Client, "", "mci-argocd-agent-live-view", &rbacv1.ClusterRoleBinding{}); b.RoleRef.Name != "view" {
			t.Errorf("the live view reads as %s", b.RoleRef.Name)
		}
		if a := read(t, hub, c.Name, addOnName, &addonv1alpha1.ManagedClusterAddOn{}); a.Status.Namespace != env.ArgoCDNamespace {
			t.Errorf("the add-on's namespace is %s", a.Status.Namespace)
		}
		secret := read(t, hub, env.ArgoCDNamespace, clusterSecret(c), &corev1.Secret{})
		if !strings.HasSuffix(string(secret.Data["server"]), ":9090?agentName="+c.Name) || secret.Labels["argocd-agent.argoproj-labs.io/agent-name"] != c.Name {
			t.Errorf("the hub's Argo CD dials %s, labels %v", secret.Data["server"], secret.Labels)
		}
	})
}

// The conditions and figures of the status are as expected, and the same in both API versions.
func TestConditions_areTheSameInBothVersions(t *testing.T) {
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	s := ready(t, example, examplePlacement)
	for _, condition := range []string{
		"SpecAccepted", "PlacementResolved", "ClustersRegistered", "PrincipalFound", "CertificatesReady", "AgentsDeployed", "AgentsConnected", "Ready",
	} {
		if !s.is(condition, metav1.ConditionTrue, "AsExpected") {
			t.Errorf("no condition %s as expected in %+v", condition, s.Conditions)
		}
	}
	n := len(fleet.Managed)
	if c := s.Clusters; c.Registered != n || c.Deployed != n || c.Leaving+c.Taken != 0 || s.Phase != "successful" || len(s.Waiting) > 0 {
		t.Errorf("%+v", s)
	}
	if p := s.Principal; p.Address != address || p.Source != "LoadBalancer" || p.Image != image || p.Version != "0.9.0" {
		t.Errorf("the principal is %+v", p)
	}
	other, err := statusOf(t.Context(), example, "v1alpha1")
	must(t, err)
	if !reflect.DeepEqual(s, other) {
		t.Errorf("v1beta1 says %+v, v1alpha1 %+v", s, other)
	}
}

// The stand-in for the principal identifies each cluster by its certificate. The agent rejects a principal
// with another name.
func TestPrincipal_identifiesTheCluster(t *testing.T) {
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	server, _, err := peer.now()
	must(t, err)
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		agent, err := agentOf(t.Context(), c)
		must(t, err)
		name, err := agent.Dial(server, address, nil)
		if err != nil || name != c.Name {
			t.Errorf("the principal takes %s for %q, %v", c.Name, name, err)
		}
		if name, err := agent.Dial(server, "elsewhere.example.com", nil); err == nil {
			t.Errorf("a principal of another name was believed, and answered %q", name)
		}
	})
}

// A restart of gitopscluster on an idle fleet writes nothing.
func TestRestart_writesNothing(t *testing.T) {
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	before := versions(t)
	p := program(t)
	must(t, p.Stop(t.Context()))
	// The status is removed, so that a later status is newer than the restart.
	must(t, hub.Status().Patch(t.Context(), gitopsCluster(example, "v1beta1"), client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))))
	must(t, p.Start(t.Context()))
	ready(t, example, examplePlacement)
	if after := versions(t); !reflect.DeepEqual(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

// versions returns the versions of all objects that gitopscluster writes. A write changes them.
func versions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{principalName: fmt.Sprint(read(t, hub, env.ArgoCDNamespace, principalName, &appsv1.Deployment{}).Generation)}
	for _, name := range []string{"argocd-agent-ca", "argocd-agent-principal-tls", "argocd-agent-resource-proxy-tls", "argocd-agent-jwt"} {
		all[name] = read(t, hub, env.ArgoCDNamespace, name, &corev1.Secret{}).ResourceVersion
	}
	for _, c := range fleet.Managed {
		w := work(t, c)
		all[c.Name+" work"] = fmt.Sprint(w.Generation, w.Labels, w.Annotations)
		all[c.Name+" add-on"] = read(t, hub, c.Name, addOnName, &addonv1alpha1.ManagedClusterAddOn{}).ResourceVersion
		all[clusterSecret(c)] = read(t, hub, env.ArgoCDNamespace, clusterSecret(c), &corev1.Secret{}).ResourceVersion
		all[c.Name+" agent"] = deployment(t, c).ResourceVersion
		all[c.Name+" key"] = keyPair(t, c).ResourceVersion
	}
	return all
}
