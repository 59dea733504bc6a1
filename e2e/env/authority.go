// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// certificateLife is longer than the life of any fleet.
const certificateLife = 7 * 24 * time.Hour

// ServiceAddress is the address of the Service "kubernetes" in every cluster, which pods use for the API
// server. In the fleet no process listens there.
const ServiceAddress = "10.96.0.1"

// authority is a cluster's certificate authority. Each cluster has a separate one, so that no cluster accepts
// the identities of another.
type authority struct {
	name        string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// pair is a certificate and its key, both as PEM.
type pair struct{ certificate, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name + "-ca"}, key)
	return &authority{name: name, key: key, certificate: certificate}, err
}

// pem returns the authority's certificate.
func (a *authority) pem() []byte { return certificatePEM(a.certificate.Raw) }

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// server returns a certificate for a server with names on 127.0.0.1. It is also valid for the address that
// pods of its cluster use.
func (a *authority) server(names ...string) (pair, error) {
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(ServiceAddress)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client returns a certificate for a user of the cluster.
func (a *authority) client(user string, groups ...string) (pair, error) {
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) sign(t *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	t.SerialNumber, t.KeyUsage = big.NewInt(time.Now().UnixNano()), x509.KeyUsageDigitalSignature
	t.NotBefore, t.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(certificateLife)
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign %s with the CA of %s: %w", t.Subject.CommonName, a.name, err)
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	return pair{certificate: certificatePEM(der), key: private}, err
}

// writeFiles writes files by name into a new folder.
func writeFiles(folder string, files map[string][]byte) (err error) {
	defer must.Return(&err)
	must.OK(os.MkdirAll(folder, 0o700))
	for name, content := range files {
		must.OK(os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	return nil
}
