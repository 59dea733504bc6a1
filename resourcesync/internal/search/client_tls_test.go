// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// authority is a certificate authority that signs server certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

func sign(t *testing.T, template *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, _ = rand.Int(rand.Reader, big.NewInt(1<<62))
	template.Subject = pkix.Name{CommonName: fmt.Sprint(template.SerialNumber)}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if by == nil {
		by = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) server(t *testing.T, ips ...net.IP) tls.Certificate {
	t.Helper()
	cert, key := sign(t, &x509.Certificate{IPAddresses: ips, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, a)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func TestClient_readsTheRootsAgain(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	loopback := net.IPv4(127, 0, 0, 1)
	var current atomic.Pointer[tls.Certificate]
	use := func(c tls.Certificate) { current.Store(&c) }
	server := httptest.NewUnstartedServer(answers(emptyAnswer))
	server.Listener = tls.NewListener(server.Listener, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.Load(), nil },
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are expected
	use(first.server(t, loopback))
	server.Start()
	defer server.Close()
	c, _ := newClient(t, answers(""))
	c.options.URL = "https" + strings.TrimPrefix(server.URL, "http")
	trust := func(a *authority) { writeFile(t, c.options.CAFile, certificate(a.cert)) }

	steps := []struct {
		reason string
		do     func()
		kind   Kind
	}{
		{"trusted", func() { trust(first) }, ""},
		{"the file changes: it counts within five minutes", func() { trust(second) }, ""},
		{"the server follows: one request is refused", func() { use(second.server(t, loopback)); closeIdle(c) }, KindTLS},
		{"then the file is read again", func() {}, ""},
		{"a file without a certificate leaves the roots in use", func() { writeFile(t, c.options.CAFile, []byte("garbage")) }, ""},
		{"both, as during a rotation", func() {
			writeFile(t, c.options.CAFile, bytes.Join([][]byte{certificate(first.cert), certificate(second.cert)}, nil))
		}, ""},
		{"a certificate for another name", func() {
			use(first.server(t, net.IPv4(127, 0, 0, 2)))
			closeIdle(c)
		}, KindTLS},
	}
	for _, step := range steps {
		step.do()
		if err := applicationsOf(c); KindOf(err) != step.kind {
			t.Fatalf("%s: %v, want %q", step.reason, err, step.kind)
		}
	}
}

// closeIdle closes idle connections, so that the next request uses the server's new certificate.
func closeIdle(c *Client) { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

func TestClient_reportsRootsThatCannotBeLoaded(t *testing.T) {
	c, _ := newClient(t, answers(emptyAnswer))
	ca := c.options.CAFile
	for reason, file := range map[string]string{"absent": ca + "-absent", "no certificate": c.options.TokenFile} {
		o := c.options
		o.CAFile = file
		other := New(o)
		if err := applicationsOf(other); KindOf(err) != KindTLS {
			t.Errorf("%s: %v", reason, err)
		}
		other.Close()
	}
	o := c.options
	o.CAFile, o.FallbackCAFile = "", ca
	if err := applicationsOf(New(o)); err != nil {
		t.Errorf("the platform's file: %v", err)
	}
	o.FallbackCAFile = ca + "-absent"
	if err := applicationsOf(New(o)); KindOf(err) != KindTLS || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("the system does not know a test's authority: %v", err)
	}
}
