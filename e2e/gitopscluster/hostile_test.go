// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// forgery is a changed form of the request that a cluster's registration agent makes.
type forgery struct {
	name string
	// label is the cluster in the request's label.
	label  string
	change func(*x509.CertificateRequest)
	key    crypto.Signer
	usages []certificatesv1.KeyUsage
	// reason is why the request waits. If it is empty, the request is denied.
	reason string
}

// create creates the request.
func (f forgery) create(t *testing.T, as client.Client, c *env.Cluster, group string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key := f.key
	if key == nil {
		made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(t, err)
		key = made
	}
	template := &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: c.Name, Organization: []string{group}},
		DNSNames: []string{addOnName + ".addon.open-cluster-management.io"},
	}
	if f.change != nil {
		f.change(template)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	must(t, err)
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "hostile-", Labels: map[string]string{"open-cluster-management.io/addon-name": addOnName}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages: append(f.usages, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth),
		},
	}
	if f.label != "" {
		csr.Labels["open-cluster-management.io/cluster-name"] = f.label
	}
	must(t, as.Create(t.Context(), csr))
	t.Cleanup(func() {
		if err := hub.Delete(context.WithoutCancel(t.Context()), csr); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return csr
}

// refused waits until the request has been denied, or gitopscluster has logged why it waits. It checks that
// the request was not approved and has no certificate.
func (f forgery) refused(t *testing.T, csr *certificatesv1.CertificateSigningRequest) {
	t.Helper()
	must(t, env.Wait(fleetContext(t), "a verdict about "+f.name, func(ctx context.Context) (bool, string) {
		if err := hub.Get(ctx, client.ObjectKeyFromObject(csr), csr); err != nil {
			return false, err.Error()
		}
		if len(csr.Status.Certificate) > 0 {
			return true, ""
		}
		if f.reason == "" {
			return has(csr, certificatesv1.CertificateDenied), fmt.Sprintf("%+v", csr.Status)
		}
		said := lines(t, `"name":"`+csr.Name+`"`)
		return strings.Contains(said, `"reason":"`+f.reason+`"`), said
	}))
	if len(csr.Status.Certificate) > 0 || has(csr, certificatesv1.CertificateApproved) {
		t.Errorf("a request of %s was granted: %s", csr.Spec.Username, csr.Status.Certificate)
	}
}

// deleted waits until the request is deleted, and checks that it was never approved.
func (f forgery) deleted(t *testing.T, csr *certificatesv1.CertificateSigningRequest) {
	t.Helper()
	must(t, env.Wait(fleetContext(t), f.name+" to be deleted", func(ctx context.Context) (bool, string) {
		var now certificatesv1.CertificateSigningRequest
		err := hub.Get(ctx, client.ObjectKeyFromObject(csr), &now)
		if len(now.Status.Certificate) > 0 || has(&now, certificatesv1.CertificateApproved) {
			t.Errorf("a request of %s was granted: %s", now.Spec.Username, now.Status.Certificate)
			return true, ""
		}
		return apierrors.IsNotFound(err), fmt.Sprintf("%+v %v", now.Status, err)
	}))
}

func has(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	for _, c := range csr.Status.Conditions {
		if c.Type == kind {
			return true
		}
	}
	return false
}

// lines returns the log lines of gitopscluster that contain a word.
func lines(t *testing.T, word string) string {
	t.Helper()
	log, err := os.ReadFile(program(t).Log)
	must(t, err)
	var found []string
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(word)) {
			found = append(found, string(line))
		}
	}
	return strings.Join(found, "")
}

// hubAs returns a client for the hub with the identity of a cluster's registration agent.
func hubAs(t *testing.T, c *env.Cluster) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.HubKubeconfig())
	must(t, err)
	as, err := client.New(config, client.Options{Scheme: hub.Scheme()})
	must(t, err)
	return as
}

func forgeries(t *testing.T, victim, attacker string) []forgery {
	t.Helper()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	must(t, err)
	odd, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(t, err)
	const no = "RequestNotAccepted"
	return []forgery{
		{name: "all that the victim would ask for", label: victim, change: func(r *x509.CertificateRequest) { r.Subject.CommonName = victim }},
		{name: "its own name for the victim", label: victim},
		{name: "a cluster that there is none of", label: "nobody", change: func(r *x509.CertificateRequest) { r.Subject.CommonName = "nobody" }},
		{name: "no cluster"},
		{name: "the victim's name", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.Subject.CommonName = victim }},
		{name: "an organisation that reads like the victim", label: attacker, reason: no, change: func(r *x509.CertificateRequest) {
			r.Subject.Organization = []string{"CN=" + victim}
		}},
		{name: "one more organisation", label: attacker, reason: no, change: func(r *x509.CertificateRequest) {
			r.Subject.Organization = append(r.Subject.Organization, "system:masters")
		}},
		{name: "a further part of the name", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.Subject.SerialNumber = "CN=" + victim }},
		{name: "two common names", label: attacker, reason: no, change: func(r *x509.CertificateRequest) {
			common := asn1.ObjectIdentifier{2, 5, 4, 3}
			r.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: common, Value: victim}, {Type: common, Value: attacker}}
		}},
		{name: "another generation", label: attacker, reason: "OtherGeneration", change: func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"g999"} }},
		{name: "the principal's name", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, address) }},
		{name: "another DNS name", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.DNSNames = []string{address} }},
		{name: "an address", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} }},
		{name: "a mail address", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"agent@example.com"} }},
		{name: "a URI", label: attacker, reason: no, change: func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.com"}} }},
		{name: "a CA", label: attacker, reason: no, change: func(r *x509.CertificateRequest) {
			r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}},
		{name: "a server", label: attacker, reason: no, usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth}},
		{name: "a signer", label: attacker, reason: no, usages: []certificatesv1.KeyUsage{certificatesv1.UsageCertSign}},
		{name: "a weak key", label: attacker, reason: no, key: weak},
		{name: "a key of another curve", label: attacker, reason: no, key: odd},
	}
}

// A managed cluster may send any request to the hub, also in the name of another cluster. It gets only its
// own certificate, and its own agent still works afterwards.
func TestHostileCluster_getsOnlyItsCertificate(t *testing.T) {
	victim, attacker := fleet.Managed[0], fleet.Managed[1]
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	as := hubAs(t, attacker)
	group := generation(t, held(t, attacker))
	for _, f := range forgeries(t, victim.Name, attacker.Name) {
		t.Run(f.name, func(t *testing.T) {
			csr := f.create(t, as, attacker, group)
			f.refused(t, csr)
			csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: certificatesv1.CertificateApproved, Status: "True", Reason: "Hostile",
			})
			if err := as.SubResource("approval").Update(t.Context(), csr); !apierrors.IsForbidden(err) {
				t.Errorf("it approves its own request: %v", err)
			}
		})
	}
	for _, c := range fleet.Managed {
		before := held(t, c)
		loseKey(t, c)
		renewed(t, c, before)
		delivered(t, c)
	}
}

// A cluster that sends too many requests gets no certificate, and other clusters still get theirs.
func TestHostileCluster_blocksNoOtherClusterWithAFlood(t *testing.T) {
	victim, attacker := fleet.Managed[0], fleet.Managed[1]
	for _, c := range fleet.Managed {
		delivered(t, c)
	}
	as, group := hubAs(t, attacker), generation(t, held(t, attacker))
	for range 11 {
		forgery{label: attacker.Name, change: func(r *x509.CertificateRequest) { r.Subject.CommonName = victim.Name }}.create(t, as, attacker, group)
	}
	good := forgery{name: "its own certificate after a flood", label: attacker.Name, reason: "TooManyRequests"}
	csr := good.create(t, as, attacker, group)
	good.refused(t, csr)
	before := held(t, victim)
	loseKey(t, victim)
	renewed(t, victim, before)
	must(t, hub.Get(t.Context(), client.ObjectKeyFromObject(csr), csr))
	if len(csr.Status.Certificate) > 0 {
		t.Error("a certificate was issued in spite of the flood")
	}
	must(t, hub.Delete(t.Context(), csr)) // before the flood is deleted
}

// A cluster without a GitOpsCluster with agents gets no certificate. gitopscluster deletes its request,
// because with ten of them OCM's agent makes no further one.
func TestCertificate_requiresAnAgent(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		leave(t, c)
		f := forgery{name: "a certificate without agent", label: c.Name}
		csr := f.create(t, hubAs(t, c), c, "g1")
		f.deleted(t, csr)
	})
}
