// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/standin"
)

// clientOf signs a cluster's client certificate, as the CA does for its registration agent.
func (a *argo) clientOf(authorities pki.Authorities, cluster string, generation int) (certificate, key []byte, issued pki.Issued) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: cluster, Organization: []string{agent.Group(generation)}}, DNSNames: []string{agent.CSRServerName},
	}, private)
	if err != nil {
		a.t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: cluster, UID: types.UID(fmt.Sprint(cluster, "-", serial.Add(1))), CreationTimestamp: metav1.NewTime(a.now)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Username: "system:open-cluster-management:" + cluster + ":x", Groups: []string{"system:open-cluster-management:" + cluster},
		},
	}
	verdict := pki.Rules{ServerName: agent.CSRServerName}.Evaluate(csr, pki.ClusterFacts{Cluster: cluster, Exists: true, Accepted: true, AddOn: true, Generation: generation}, a.now)
	certificate, issued, err = authorities.Signing.Issue(verdict, csr, 168*time.Hour, a.now)
	if err != nil {
		a.t.Fatal(err, verdict.Message)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), issued
}

type member struct {
	agent  standin.Agent
	report pki.Report
	secret string // digest of the cluster Secret's config
	// next is the certificate and key that the cluster holds, and with which its agent was not started yet.
	next [2][]byte
}

// fleet is a hub with a running principal, and clusters that act one step at a time.
type fleet struct {
	*argo
	server  *standin.Server
	runs    string // digest with which the principal was started
	members []*member
	state   State
	clock   func() time.Time
	// If principalFirst is set, the principal restarts before any cluster acts. Otherwise it restarts after
	// slow idle rounds of the clusters.
	principalFirst bool
	slow, idle     int
}

func newFleet(t *testing.T, clusters ...string) *fleet {
	t.Helper()
	f := &fleet{argo: newArgo(t)}
	late := f.now.Add(6 * time.Hour) // after all certificates are issued, and before they expire
	f.clock = func() time.Time { return late }
	f.principal()
	f.state = f.ensure()
	f.restartPrincipal()
	t.Cleanup(func() { _ = f.server.Close() })
	for _, name := range clusters {
		m := &member{report: pki.Report{Cluster: name, Reachable: true, Connected: true, Generation: 1}}
		f.members = append(f.members, m)
		f.trust(m)
		f.renew(m)
		m.startAgent()
	}
	return f
}

// restartPrincipal starts the principal with the current Secrets.
func (f *fleet) restartPrincipal() {
	f.t.Helper()
	if f.server != nil {
		_ = f.server.Close()
	}
	server, err := standin.Start(f.secret(caName).Data, f.secret(leafName).Data, standin.Auth, f.clock)
	if err != nil {
		f.t.Fatal(err)
	}
	f.server, f.runs = server, f.deployment().Spec.Template.Annotations[agent.CertificatesAnnotation]
	f.rollOut()
}

func (f *fleet) trust(m *member) {
	m.agent.Roots, m.report.Bundle = f.state.CABundle, f.state.BundleDigest
}

// renew gives a member a certificate of the current signing CA.
func (f *fleet) renew(m *member) {
	f.t.Helper()
	authorities, err := Load(f.t.Context(), hub.client, f.namespace, "")
	if err != nil {
		f.t.Fatal(err)
	}
	var issued pki.Issued
	m.next[0], m.next[1], issued = f.clientOf(authorities, m.report.Cluster, m.report.Generation)
	m.report.Issued = append(m.report.Issued, issued)
	m.report.Issued = m.report.Issued[max(0, len(m.report.Issued)-2):]
	m.report.Holds, m.report.Started = issued.SHA256, false
}

// startAgent restarts a member's agent with the certificate that the cluster holds.
func (m *member) startAgent() {
	m.agent.Certificate, m.agent.Key, m.report.Started = m.next[0], m.next[1], true
}

// pass runs one pass of a restarted keeper.
func (f *fleet) pass(rotate string) {
	f.t.Helper()
	f.restart(nil)
	f.now = f.now.Add(31 * time.Second)
	reports := make([]pki.Report, 0, len(f.members))
	for _, m := range f.members {
		digest, err := f.state.ProxyDigest(m.report.Cluster)
		if err != nil {
			f.t.Fatal(err)
		}
		m.report.SecretCurrent = m.secret == digest
		reports = append(reports, m.report)
	}
	f.state = f.ensure(func(w *Facts) {
		w.Reports = reports
		if rotate != "" {
			w.RotateCA = []string{rotate}
		}
	})
	generations := pki.Generations(reports, f.state.SigningCA, f.state.TrustedCAs, 0, 1, f.now)
	for _, m := range f.members {
		m.report.Generation = generations[m.report.Cluster]
	}
}

// act does the next step of the principal or a cluster. It returns false if there is none.
func (f *fleet) act() bool {
	f.t.Helper()
	restart := func() bool {
		if f.runs == f.deployment().Spec.Template.Annotations[agent.CertificatesAnnotation] {
			return false
		}
		if f.idle++; f.idle <= f.slow {
			return true
		}
		f.idle = 0
		f.restartPrincipal()
		return true
	}
	if f.principalFirst && restart() {
		return true
	}
	for _, m := range f.members {
		if digest, _ := f.state.ProxyDigest(m.report.Cluster); m.secret != digest {
			m.secret = digest // the Secret is on the hub, so this works for an unreachable cluster
			return true
		}
		if !m.report.Reachable {
			continue
		}
		newest := m.report.Issued[len(m.report.Issued)-1]
		switch {
		case m.report.Bundle != f.state.BundleDigest:
			f.trust(m)
		case newest.Generation != m.report.Generation:
			f.renew(m)
		case !m.report.Started:
			m.startAgent()
		default:
			continue
		}
		return true
	}
	return restart()
}

// everybodyIsLetIn checks that the principal accepts each reachable cluster.
func (f *fleet) everybodyIsLetIn(when string) {
	f.t.Helper()
	for _, m := range f.members {
		if !m.report.Reachable {
			continue
		}
		if name, err := m.agent.Dial(f.server.Address(), "principal.example.com", f.clock); err != nil || name != m.report.Cluster {
			f.t.Fatalf("%s: %s is known as %q: %v", when, m.report.Cluster, name, err)
		}
	}
}

// changeCA runs passes and steps until nothing changes, and checks all clusters after each of them.
func (f *fleet) changeCA(rotate string) {
	f.t.Helper()
	for step := 0; ; step++ {
		before := f.state.BundleDigest + f.state.SigningCA
		f.pass(rotate)
		f.everybodyIsLetIn(fmt.Sprintf("step %d, after a pass", step))
		acted := f.act()
		f.everybodyIsLetIn(fmt.Sprintf("step %d, after what followed", step))
		if !acted && before == f.state.BundleDigest+f.state.SigningCA && step > 3 {
			return
		}
		if step > 200 {
			f.t.Fatalf("it does not come to an end: %v", f.state.Problems)
		}
	}
}
