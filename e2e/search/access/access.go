// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access decides who asks the stand-in for search v2 and what they may
// see, as the real service does: by TokenReview and SubjectAccessReview.
package access

import (
	"context"
	"errors"
)

// ErrInvalidToken says that no account has this token.
var ErrInvalidToken = errors.New("invalid token")

// Grant is what a caller may see.
type Grant struct {
	// Everything: the caller may do everything, and sees the hub's objects too.
	Everything bool
	// AllManaged: every managed cluster.
	AllManaged bool
	// Clusters: these managed clusters.
	Clusters map[string]bool
}

// Reviewer tells callers apart.
type Reviewer interface {
	// Authenticate returns the caller that a token stands for. It returns
	// ErrInvalidToken for a token of no account, and any other error when the
	// caller could not be established.
	Authenticate(ctx context.Context, token string) (Caller, error)
	// Authorize returns what a caller may see of clusters.
	Authorize(ctx context.Context, caller Caller, clusters []string) (Grant, error)
}

// Caller is an authenticated account.
type Caller struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Tokens is a Reviewer that knows its callers' tokens, for tests without a hub.
type Tokens map[string]Grant

// Authenticate knows the tokens in the map.
func (t Tokens) Authenticate(_ context.Context, token string) (Caller, error) {
	if _, ok := t[token]; !ok {
		return Caller{}, ErrInvalidToken
	}
	return Caller{Name: token, UID: token}, nil
}

// Authorize returns the grant in the map.
func (t Tokens) Authorize(_ context.Context, caller Caller, _ []string) (Grant, error) {
	return t[caller.Name], nil
}
