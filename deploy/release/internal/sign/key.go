// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sign signs files, images and statements with a key of cosign's format, in
// the forms that cosign verifies with `--key`. Signatures are deterministic: the same
// release signed again is the same.
package sign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

const (
	privateType = "ENCRYPTED SIGSTORE PRIVATE KEY"
	publicType  = "PUBLIC KEY"
)

// Key signs.
type Key struct{ private *ecdsa.PrivateKey }

// NewKey makes a key, and its private half as cosign keeps it: in PEM, encrypted with
// password.
func NewKey(password []byte) (*Key, []byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	sealed, err := encrypted.Encrypt(plain, password)
	if err != nil {
		return nil, nil, fmt.Errorf("encrypt the key: %w", err)
	}
	return &Key{private}, pem.EncodeToMemory(&pem.Block{Type: privateType, Bytes: sealed}), nil
}

// ReadKey opens a private key in PEM.
func ReadKey(text, password []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != privateType {
		return nil, fmt.Errorf("the signing key is not PEM of type %q; make one with `cosign generate-key-pair`", privateType)
	}
	plain, err := encrypted.Decrypt(block.Bytes, password)
	if err != nil {
		return nil, fmt.Errorf("decrypt the signing key with the password in COSIGN_PASSWORD: %w", err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, fmt.Errorf("parse the signing key: %w", err)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, errors.New("the signing key is not ECDSA P-256")
	}
	return &Key{private}, nil
}

// Public is the public half, in PEM.
func (k *Key) Public() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: der}), nil
}

// Sign returns the signature of content, in base64.
func (k *Key) Sign(content []byte) (string, error) {
	sum := sha256.Sum256(content)
	// Without a source of randomness the nonce is derived from key and content (RFC 6979).
	signature, err := k.private.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// Verify returns an error unless signature, in base64, is that of content by this key.
func (k *Key) Verify(content []byte, signature string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("decode the signature: %w", err)
	}
	sum := sha256.Sum256(content)
	if !ecdsa.VerifyASN1(&k.private.PublicKey, sum[:], raw) {
		return errors.New("the signature was not made by this key, or not of this content")
	}
	return nil
}
