// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"os"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

func removeSaid() error { return os.Remove(file("said")) }

// request is one for the certificate of a cluster, as its registration agent makes it.
func request(t *testing.T, name, label, subject, group string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: subject, Organization: []string{group}},
		DNSNames: []string{addOnName + ".addon.open-cluster-management.io"},
	}, key)
	must(t, err)
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"open-cluster-management.io/cluster-name": label, "open-cluster-management.io/addon-name": addOnName,
		}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		},
	}
}

// A managed cluster may ask the hub for anything in the name of another one, and gets
// nothing. What it asks for is exactly what the other one would have been given.
func TestHostileCluster(t *testing.T) {
	victim, attacker := fleet.Managed[0], fleet.Managed[1]
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	config, err := clientcmd.BuildConfigFromFlags("", attacker.HubKubeconfig())
	must(t, err)
	scheme, err := env.Scheme()
	must(t, err)
	as, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	group := fmt.Sprintf("g%d", asked[victim.Name].Generation)
	own := request(t, "hostile-own-label", attacker.Name, victim.Name, group)
	other := request(t, "hostile-other-label", victim.Name, victim.Name, group)
	for _, csr := range []*certificatesv1.CertificateSigningRequest{own, other} {
		must(t, as.Create(t.Context(), csr))
		t.Cleanup(func() {
			if err := hub.Delete(context.WithoutCancel(t.Context()), csr); err != nil {
				t.Error(err)
			}
		})
	}
	must(t, env.Wait(fleetContext(t), "the request to be denied", func(ctx context.Context) (bool, string) {
		if err := hub.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
			return false, err.Error()
		}
		for _, c := range other.Status.Conditions {
			if c.Type == certificatesv1.CertificateDenied {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%+v", other.Status)
	}))
	if other.Spec.Username == "" || len(other.Status.Certificate) > 0 {
		t.Errorf("a denied request of %q has a certificate", other.Spec.Username)
	}
	// It was made before the denied one. An honest renewal is signed after both.
	ask(t, attacker.Name, func(q *question) { q.Generation++ })
	delivered(t, attacker)
	must(t, hub.Get(t.Context(), client.ObjectKeyFromObject(own), own))
	if len(own.Status.Certificate) > 0 {
		t.Error("a cluster was given a certificate with the name of another one")
	}
	for _, c := range own.Status.Conditions {
		if c.Type == certificatesv1.CertificateApproved {
			t.Error("a certificate with the name of another cluster was approved")
		}
	}
}
