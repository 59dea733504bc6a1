// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/util/cert"
)

// names are the names in the service's certificate, in addition to localhost.
var names = []string{
	"search-search-api.open-cluster-management.svc",
	"search-search-api.open-cluster-management.svc.cluster.local",
}

// identity is a certificate and the authority that signed it.
type identity struct {
	certificate tls.Certificate
	caPEM       []byte
}

// newIdentity creates an authority and a server's certificate. The keys are RSA, because the service's only
// cipher suite of TLS 1.2 uses RSA.
func newIdentity() (identity, error) {
	chain, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, names)
	if err != nil {
		return identity{}, fmt.Errorf("make the server's certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return identity{}, fmt.Errorf("read the server's certificate: %w", err)
	}
	authority := chain[bytes.LastIndex(chain, []byte("-----BEGIN")):]
	return identity{certificate: certificate, caPEM: authority}, nil
}

// writeFile replaces a file atomically, so that a reader never gets a part of it.
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
