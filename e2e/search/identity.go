// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// names are the names that the service's certificate is good for.
var names = []string{
	"localhost",
	"search-search-api.open-cluster-management.svc",
	"search-search-api.open-cluster-management.svc.cluster.local",
}

// validity of the certificates; no test runs the stand-in for longer.
const validity = 24 * time.Hour

// identity is a certificate and the authority that signed it.
type identity struct {
	certificate tls.Certificate
	caPEM       []byte
}

// newIdentity makes an authority and a server's certificate. The keys are RSA
// because the service's only cipher suite of TLS 1.2 is.
func newIdentity() (identity, error) {
	caKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return identity{}, fmt.Errorf("make the authority's key: %w", err)
	}
	ca := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "stand-in service signer"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return identity{}, fmt.Errorf("sign the authority's certificate: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return identity{}, fmt.Errorf("make the server's key: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: names[1]},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     names,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return identity{}, fmt.Errorf("sign the server's certificate: %w", err)
	}
	return identity{
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		caPEM:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
	}, nil
}

func serial() *big.Int { return big.NewInt(time.Now().UnixNano()) }

// writeFile replaces a file at once, so that a reader never sees half of it.
func writeFile(path string, data []byte) error {
	aside := path + ".new"
	if err := os.WriteFile(aside, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", aside, err)
	}
	if err := os.Rename(aside, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}
