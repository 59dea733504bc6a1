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
)

// certificateLife is longer than any fleet lives.
const certificateLife = 7 * 24 * time.Hour

// ServiceAddress is the address of the Service "kubernetes" in every cluster, under which
// pods look for the API server. Nothing of the fleet listens there.
const ServiceAddress = "10.96.0.1"

// authority is a cluster's certificate authority. Each cluster has its own, so
// that an identity of one is a stranger to the others.
type authority struct {
	name        string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// pair is a certificate and its key, both as PEM.
type pair struct{ certificate, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{name: name, key: key, serial: 1}
	template := a.template(pkix.Name{CommonName: name + "-ca"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(der)
	return a, err
}

func (a *authority) template(subject pkix.Name) *x509.Certificate {
	a.serial++
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// pem returns the authority's certificate.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// server returns a certificate for a server under names, on 127.0.0.1, and at the address
// that pods of its cluster know.
func (a *authority) server(names ...string) (pair, error) {
	t := a.template(pkix.Name{CommonName: names[0]})
	t.DNSNames, t.IPAddresses = names, []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(ServiceAddress)}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.sign(t)
}

// client returns a certificate for a user of the cluster.
func (a *authority) client(user string, groups ...string) (pair, error) {
	t := a.template(pkix.Name{CommonName: user, Organization: groups})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(t)
}

func (a *authority) sign(t *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign %s with the CA of %s: %w", t.Subject.CommonName, a.name, err)
	}
	keyPEM, err := keyPEM(key)
	return pair{certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, err
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// writeFiles writes files by name into a new folder.
func writeFiles(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
