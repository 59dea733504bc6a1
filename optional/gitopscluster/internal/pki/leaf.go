// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// Pair is a certificate and its key, both PEM.
type Pair struct{ Certificate, Key []byte }

// IssueServer returns the certificate of a server. names are its host names and addresses.
func (a *Authority) IssueServer(name string, names []string, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make the key of %s: %w", name, err)
	}
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	hosts, addresses := split(names)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-skew), NotAfter: a.until(now.Add(LeafLife)),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: hosts, IPAddresses: addresses, BasicConstraintsValid: true,
	}
	certificate, err := a.issue(rand.Reader, template, key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("issue the certificate of %s: %w", name, err)
	}
	text, err := encodeKey(key)
	return Pair{Certificate: EncodeCertificates(certificate), Key: text}, err
}

// proxyClient in the subject separates clients of the resource proxy from agents. The proxy only
// reads the common name, and the principal must not take its client for the agent of that cluster.
const proxyClient = "resource-proxy"

// ProxyClient returns the certificate that the hub's Argo CD uses as a client of the resource proxy
// for a cluster. It is the same at each call until its renewal, because key and signature are
// derived from the CA's. So nothing has to be stored to detect changes. Clusters are renewed at
// different times.
func (a *Authority) ProxyClient(cluster string, now time.Time) (Pair, time.Time, error) {
	begin := period(cluster, now)
	secret, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return Pair{}, time.Time{}, fmt.Errorf("encode private key: %w", err)
	}
	info := fmt.Sprintf("resource proxy client %s of %s from %d", cluster, a.ID(), begin.Unix())
	material, err := hkdf.Key(sha256.New, secret, nil, info, 48+16)
	if err != nil {
		return Pair{}, time.Time{}, fmt.Errorf("derive a key: %w", err)
	}
	key, err := deriveKey(material[:48])
	if err != nil {
		return Pair{}, time.Time{}, err
	}
	template := &x509.Certificate{
		SerialNumber: positive(material[48:]), Subject: pkix.Name{CommonName: cluster, Organization: []string{proxyClient}},
		NotBefore: begin.Add(-skew), NotAfter: a.until(begin.Add(LeafLife)),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	certificate, err := a.issue(nil, template, key.Public())
	if err != nil {
		return Pair{}, time.Time{}, fmt.Errorf("issue the resource proxy's client certificate of %s: %w", cluster, err)
	}
	text, err := encodeKey(key)
	return Pair{Certificate: EncodeCertificates(certificate), Key: text}, begin.Add(leafRenewal), err
}

// period returns when the time between two renewals began for a cluster.
func period(cluster string, now time.Time) time.Time {
	sum := sha256.Sum256([]byte(cluster))
	length := int64(leafRenewal / time.Second)
	offset := new(big.Int).Mod(new(big.Int).SetBytes(sum[:8]), big.NewInt(length)).Int64()
	return time.Unix((now.Unix()-offset)/length*length+offset, 0).UTC()
}

// deriveKey turns 48 bytes into a key of P-256. The modulus of 48 bytes is almost uniformly
// distributed.
func deriveKey(material []byte) (*ecdsa.PrivateKey, error) {
	one := big.NewInt(1)
	order := new(big.Int).Sub(elliptic.P256().Params().N, one)
	d := new(big.Int).Mod(new(big.Int).SetBytes(material), order)
	raw := d.Add(d, one).FillBytes(make([]byte, 32))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return key, nil
}
