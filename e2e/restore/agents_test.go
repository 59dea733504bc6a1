// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
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

// installPrincipal gives the hub a principal. Nothing here connects to it.
func installPrincipal(ctx context.Context) error {
	return scenario.InstallPrincipal(ctx, fleet.Hub, "principal.example.com")
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

// authority returns the CA of the agents, when every agent holds a certificate of it.
func authority(t *testing.T) (ca string) {
	t.Helper()
	env.Await(t, "each agent to hold a certificate of the CA", func(ctx context.Context) (bool, string) {
		content, err := certificate(ctx, fleet.Hub, env.ProductNamespace, "argocd-agent-ca-"+env.ArgoCDNamespace)
		if err != nil {
			return false, err.Error()
		}
		ca = string(content)
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(content)
		for _, c := range fleet.Managed {
			if err := verify(ctx, c, trusted); err != nil {
				return false, c.Name + ": " + err.Error()
			}
		}
		return true, ""
	})
	return ca
}

// verify checks the client certificate of the agent on a managed cluster.
func verify(ctx context.Context, c *env.Cluster, trusted *x509.CertPool) error {
	content, err := certificate(ctx, c, env.ArgoCDNamespace, keyPair)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return errors.New("no certificate in the Secret")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	_, err = parsed.Verify(x509.VerifyOptions{Roots: trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

func certificate(ctx context.Context, c *env.Cluster, namespace, name string) ([]byte, error) {
	s := &corev1.Secret{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	return s.Data[corev1.TLSCertKey], err
}
