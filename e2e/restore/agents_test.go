// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// keyPair is the Secret with the client certificate of the agent on each managed cluster.
const keyPair = "mci-argocd-agent-open-cluster-management.io-mci-argocd-agent-client-cert"

// gitOpsCluster is the GitOpsCluster of the examples.
func gitOpsCluster() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps.open-cluster-management.io/v1beta1", "kind": "GitOpsCluster"}}
	o.SetNamespace(env.ArgoCDNamespace)
	o.SetName("fleet")
	return o
}

// installPrincipal gives the hub a principal with an address.
func installPrincipal(ctx context.Context) error {
	if err := fleet.Hub.ApplyFiles(ctx, "testdata/principal.yaml"); err != nil {
		return err
	}
	service := &corev1.Service{}
	if err := fleet.Hub.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: "argocd-agent-principal"}, service); err != nil {
		return err
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
	return fleet.Hub.Client.Status().Update(ctx, service)
}

// requestAgents makes the GitOpsCluster of the examples request agents.
func requestAgents(ctx context.Context) (err error) {
	defer must.Return(&err)
	for _, c := range fleet.Managed {
		go c.Bind(fleet.Processes.Context(), client.MatchingLabels{"app.kubernetes.io/name": "argocd-agent-agent"})
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"gitopsAddon":{"enabled":true,"argoCDAgent":{"enabled":true}}}}`))
	return fleet.Hub.Client.Patch(ctx, gitOpsCluster(), patch)
}

// deployed reports whether each managed cluster is registered and runs the agent that is wanted.
func deployed(ctx context.Context) (bool, string) {
	o := gitOpsCluster()
	if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return false, err.Error()
	}
	content, err := json.Marshal(o.Object["status"])
	if err != nil {
		return false, err.Error()
	}
	var status struct {
		Clusters struct{ Registered, Deployed int }
	}
	err = json.Unmarshal(content, &status)
	n := len(fleet.Managed)
	return err == nil && status.Clusters.Registered == n && status.Clusters.Deployed == n, string(content)
}

// authority returns the CA of the agents. Every agent must hold a certificate of it.
func authority(t *testing.T) string {
	t.Helper()
	ca := secret(t, fleet.Hub, env.ProductNamespace, "argocd-agent-ca-"+env.ArgoCDNamespace)["tls.crt"]
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	for _, c := range fleet.Managed {
		block, _ := pem.Decode(secret(t, c, env.ArgoCDNamespace, keyPair)["tls.crt"])
		if block == nil {
			t.Fatalf("%s holds no certificate", c.Name)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
			t.Errorf("the certificate of %s: %v", c.Name, err)
		}
	}
	return string(ca)
}

func secret(t *testing.T, c *env.Cluster, namespace, name string) map[string][]byte {
	t.Helper()
	s := &corev1.Secret{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s.Data
}
