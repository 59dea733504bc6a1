// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session seals a token into a cookie that only this process can open. It stores nothing.
// So a user has to log in again after a restart, and replicas share no state.
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

// MaxToken is the highest length of a token, because browsers limit cookies to 4 KiB.
const MaxToken = 2900

// lifetime is how long a session lasts, even if the token is valid for longer.
const lifetime = 12 * time.Hour

// stamp is the length of the time at the beginning of a sealed token.
const stamp = len("2006-01-02T15:04:05Z")

// ErrInvalid means that the cookie was not sealed by this process, or has expired.
var ErrInvalid = errors.New("the session is over: log in again")

// maxEnded is how many sessions are remembered that were ended by a logout.
const maxEnded = 10_000

// Sealer seals and opens. It is safe for concurrent use.
type Sealer struct {
	aead  cipher.AEAD
	ended *cache.LRUExpireCache // by hash of the decoded cookie value
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

// Seal returns a cookie's value with the sealed token.
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

// End makes a cookie's value invalid before it expires.
func (s *Sealer) End(value string) {
	if sealed, err := base64.RawURLEncoding.DecodeString(value); err == nil {
		s.ended.Add(sha256.Sum256(sealed), nil, lifetime)
	}
}
