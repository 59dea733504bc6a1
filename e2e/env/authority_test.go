// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Only servers of the same authority accept a client certificate, and give the client its identity.
func TestAuthority_isAStrangerToOthers(t *testing.T) {
	var authorities []*authority
	for _, name := range []string{"one", "other"} {
		a, err := newAuthority(name)
		if err != nil {
			t.Fatal(err)
		}
		authorities = append(authorities, a)
	}
	keyPair := func(p pair, err error) tls.Certificate {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := tls.X509KeyPair(p.certificate, p.key)
		if err != nil {
			t.Fatal(err)
		}
		return certificate
	}
	trust := func(a *authority) *x509.CertPool {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(a.pem())
		return pool
	}
	one := authorities[0]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		if subject.CommonName != "admin" || len(subject.Organization) != 1 || subject.Organization[0] != "system:masters" {
			t.Errorf("the client is %s", subject)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{keyPair(one.server("kube-apiserver"))}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trust(one)}
	server.StartTLS()
	defer server.Close()
	for i, trusted := range authorities {
		for j, signer := range authorities {
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
				RootCAs: trust(trusted), Certificates: []tls.Certificate{keyPair(signer.client("admin", "system:masters"))},
			}}}
			response, err := client.Get(server.URL)
			if (err == nil) != (i == 0 && j == 0) {
				t.Errorf("trusting %s, signed by %s: %v", trusted.name, signer.name, err)
			}
			if err == nil {
				response.Body.Close()
			}
		}
	}
}
