// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// These are the names that users and other programs use.
const (
	addOnName    = "mci-argocd-agent"
	agentName    = "mci-argocd-agent"
	clientSecret = "mci-argocd-agent-open-cluster-management.io-mci-argocd-agent-client-cert"
	signer       = "open-cluster-management.io/mci-argocd-agent"
)

var agentPods = client.MatchingLabels{"app.kubernetes.io/name": "argocd-agent-agent"}

// clusterSecret returns the name of the Secret that registers a cluster in the hub's Argo CD.
func clusterSecret(c *env.Cluster) string { return c.Name + "-cluster-secret" }

// read reads an object that must exist.
func read[T client.Object](t *testing.T, c client.Client, namespace, name string, o T) T {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatalf("get %T %s/%s: %v", o, namespace, name, err)
	}
	return o
}

// exists reports whether an object exists.
func exists(t *testing.T, c client.Client, namespace, name string, o client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatalf("get %T %s/%s: %v", o, namespace, name, err)
	}
	return !apierrors.IsNotFound(err)
}

func keyPair(t *testing.T, c *env.Cluster) *corev1.Secret {
	t.Helper()
	return read(t, c.Client, env.ArgoCDNamespace, clientSecret, &corev1.Secret{})
}

// held returns the client certificate on a cluster.
func held(t *testing.T, c *env.Cluster) *x509.Certificate {
	t.Helper()
	return parse(t, keyPair(t, c).Data["tls.crt"])
}

// generation returns the generation for which a client certificate was issued.
func generation(t *testing.T, certificate *x509.Certificate) string {
	t.Helper()
	if len(certificate.Subject.Organization) != 1 {
		t.Fatalf("the client certificate is for %s", certificate.Subject)
	}
	return certificate.Subject.Organization[0]
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return parsed
}

func deployment(t *testing.T, c *env.Cluster) *appsv1.Deployment {
	t.Helper()
	return read(t, c.Client, env.ArgoCDNamespace, agentName, &appsv1.Deployment{})
}

func work(t *testing.T, c *env.Cluster) *workv1.ManifestWork {
	t.Helper()
	return read(t, hub, c.Name, addOnName, &workv1.ManifestWork{})
}

func owners(o metav1.Object) int { return len(o.GetOwnerReferences()) }
