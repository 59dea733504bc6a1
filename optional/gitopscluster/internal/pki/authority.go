// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"time"
)

// These are the lifetimes of certificates. A leaf is renewed after 70 % of its lifetime, the CA
// after 80 %. Of the CA's five years, one remains for managed clusters that are unreachable.
const (
	LeafLife      = 90 * 24 * time.Hour
	leafRenewal   = LeafLife * 7 / 10
	minIssuedLife = time.Hour
	// skew is how much the clock of another machine may be behind.
	skew = 5 * time.Minute
	// tokenKeyBits is the size of the key that signs the principal's tokens.
	tokenKeyBits = 3072
)

// Authority is a CA that can sign.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority creates a CA. Each CA has a different subject, so that users can distinguish two CAs
// if only names are shown.
func NewAuthority(now time.Time, life time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of a CA: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	name := "argocd-agent-ca " + hex.EncodeToString(serial.Bytes()[:4])
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name, Organization: []string{"multicluster-integrations"}},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(life),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the CA that was made: %w", err)
	}
	return &Authority{Certificate: certificate, key: key}, nil
}

// ParseAuthority returns the CA of a PEM text of certificates, the one of them that the
// key belongs to.
func ParseAuthority(certificates, key []byte) (*Authority, error) {
	all, err := ParseCertificates(certificates)
	if err != nil {
		return nil, err
	}
	signer, err := ParseKey(key)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(c *x509.Certificate) bool { return sameKey(c, signer) })
	if i < 0 {
		return nil, errors.New("the key belongs to none of the certificates")
	}
	return &Authority{Certificate: all[i], key: signer}, nil
}

// Encode returns certificate and key as PEM.
func (a *Authority) Encode() (Pair, error) {
	key, err := encodeKey(a.key)
	return Pair{Certificate: EncodeCertificates(a.Certificate), Key: key}, err
}

// ID names the CA.
func (a *Authority) ID() string { return ID(a.Certificate) }

// issue signs a certificate. Without a source of random numbers it uses RFC 6979 for EC and PKCS #1
// for RSA.
func (a *Authority) issue(random io.Reader, template *x509.Certificate, public crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(random, template, a.Certificate, public, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// until returns end, or the CA's own when that is earlier.
func (a *Authority) until(end time.Time) time.Time {
	if a.Certificate.NotAfter.Before(end) {
		return a.Certificate.NotAfter
	}
	return end
}

// NewTokenKey makes the key that the principal signs its tokens with.
func NewTokenKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, tokenKeyBits)
	if err != nil {
		return nil, fmt.Errorf("make the key of tokens: %w", err)
	}
	return encodeKey(key)
}

func newSerial() (*big.Int, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return positive(raw), nil
}

// positive returns a number of exactly 127 bits: serial numbers have a sign.
func positive(raw []byte) *big.Int {
	raw = slices.Clone(raw)
	raw[0] = raw[0]&0x7f | 0x40
	return new(big.Int).SetBytes(raw)
}

// split separates host names from addresses.
func split(names []string) (hosts []string, addresses []net.IP) {
	for _, name := range names {
		if address := net.ParseIP(name); address != nil {
			addresses = append(addresses, address)
		} else {
			hosts = append(hosts, name)
		}
	}
	return hosts, addresses
}
