// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// These are limits for input of other writers.
const (
	maxPEM          = 256 << 10
	maxCertificates = 32
)

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// ParseCertificates returns all certificates of a PEM text, at least one. A text that
// holds something else as well, a private key perhaps, is refused as a whole.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%d bytes are more than the %d that are read", len(text), maxPEM)
	}
	var found []*x509.Certificate
	rest := bytes.TrimSpace(text)
	for len(rest) > 0 {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil:
			return nil, errors.New("there is text that is no PEM")
		case block.Type != blockCertificate:
			return nil, fmt.Errorf("there is a PEM block of another type than %s", blockCertificate)
		case len(found) == maxCertificates:
			return nil, fmt.Errorf("there are more than %d certificates", maxCertificates)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate %d: %w", len(found)+1, err)
		}
		found = append(found, certificate)
		rest = bytes.TrimSpace(rest)
	}
	if len(found) == 0 {
		return nil, errors.New("there is no certificate")
	}
	return found, nil
}

// EncodeCertificates is the inverse of [ParseCertificates].
func EncodeCertificates(certificates ...*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, c := range certificates {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.Raw}))
	}
	return text.Bytes()
}

// ParseKey returns the one private key of a PEM text, in any of the forms that are in use.
func ParseKey(text []byte) (crypto.Signer, error) {
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%d bytes are more than the %d that are read", len(text), maxPEM)
	}
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 && !isParameters(block) {
		return nil, errors.New("there is not exactly one PEM block")
	}
	if isParameters(block) { // openssl writes the curve first
		if block, rest = pem.Decode(rest); block == nil || len(bytes.TrimSpace(rest)) > 0 {
			return nil, errors.New("there is not exactly one PEM block")
		}
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		switch key := key.(type) {
		case *ecdsa.PrivateKey:
			return key, nil
		case *rsa.PrivateKey:
			return key, nil
		case ed25519.PrivateKey:
			return key, nil
		}
		return nil, errors.New("the key is neither EC, RSA nor Ed25519")
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("the PEM block is no private key")
}

func isParameters(block *pem.Block) bool { return block.Type == "EC PARAMETERS" }

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der}), nil
}

// sameKey reports whether a private key belongs to a certificate.
func sameKey(certificate *x509.Certificate, key crypto.Signer) bool {
	public, ok := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}

// Fingerprint returns the SHA-256 of a certificate in upper-case hexadecimal, the form of
// argocd-agent's list of refused certificates.
func Fingerprint(certificate *x509.Certificate) string {
	return fmt.Sprintf("%X", sha256.Sum256(certificate.Raw))
}

// ID names a CA in records and messages: the beginning of its fingerprint.
func ID(certificate *x509.Certificate) string { return Fingerprint(certificate)[:16] }

// Bundle returns certificates without duplicates in an order that only they decide, so
// that the text is the same whichever of them signs.
func Bundle(certificates ...*x509.Certificate) []*x509.Certificate {
	sorted := slices.SortedFunc(slices.Values(certificates), func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	return slices.CompactFunc(sorted, (*x509.Certificate).Equal)
}

// BundleDigest returns a digest of the certificates in a PEM text. For any other text, it returns a
// digest of the bytes.
func BundleDigest(text []byte) string {
	hash := sha256.New()
	certificates, err := ParseCertificates(text)
	if err != nil {
		hash.Write(text)
	}
	for _, c := range Bundle(certificates...) {
		hash.Write(c.Raw)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
