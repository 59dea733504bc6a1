// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session seals a token into a cookie that only this process can open. Nothing
// is stored: after a restart one logs in again, and replicas share nothing.
package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// MaxToken is how long a token may be: a browser keeps cookies of at most 4 KiB.
const MaxToken = 2900

// lifetime is how long a session lasts, however long the token would.
const lifetime = 12 * time.Hour

// stamp is the length of the time that a sealed token begins with.
const stamp = len("2006-01-02T15:04:05Z")

// ErrInvalid is what a cookie is that this process has not sealed, or that has expired.
var ErrInvalid = errors.New("the session is over: log in again")

// maxEnded is how many sessions that were ended before their time are remembered.
const maxEnded = 10_000

// Sealer seals and opens. It is safe for concurrent use.
type Sealer struct {
	aead  cipher.AEAD
	ended *cache.LRUExpireCache // by hash of what a cookie's value decodes to
}

// New returns a sealer with a random key.
func New() (*Sealer, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key for sessions: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a cipher for sessions: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher for sessions: %w", err)
	}
	return &Sealer{aead, cache.NewLRUExpireCache(maxEnded)}, nil
}

// Seal returns a cookie's value that holds the token.
func (s *Sealer) Seal(token string, now time.Time) string {
	plain := append([]byte(now.UTC().Format(time.RFC3339)+" "), token...)
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, nil)) //nolint:gosec // NewGCMWithRandomNonce makes the nonce
}

// Open returns the token, or [ErrInvalid].
func (s *Sealer) Open(value string, now time.Time) (string, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return "", ErrInvalid
	}
	plain, err := s.aead.Open(nil, nil, sealed, nil)
	if err != nil || len(plain) <= stamp {
		return "", ErrInvalid
	}
	made, err := time.Parse(time.RFC3339, string(plain[:stamp]))
	_, ended := s.ended.Get(sha256.Sum256(sealed))
	if err != nil || now.Sub(made) > lifetime || ended {
		return "", ErrInvalid
	}
	return string(plain[stamp+1:]), nil
}

// End makes a cookie's value invalid before its time.
func (s *Sealer) End(value string) {
	if sealed, err := base64.RawURLEncoding.DecodeString(value); err == nil {
		s.ended.Add(sha256.Sum256(sealed), nil, lifetime)
	}
}
