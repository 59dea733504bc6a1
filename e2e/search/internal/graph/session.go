// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"errors"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// Session is what a request was granted and what is to go wrong with it.
type Session struct {
	// Scope is what the caller may see.
	Scope table.Scope
	// Denied is why the caller's access could not be resolved, or nil.
	Denied error
	// Disturbance is what is to go wrong.
	Disturbance Disturbance
}

// Disturbance is what is to go wrong with the statements of a request. The zero
// value is a healthy database.
type Disturbance struct {
	// Statement fails every statement before its first row: an error with HTTP
	// status 200.
	Statement error
	// CutItems breaks the items off after the share ItemsKept, without an error.
	CutItems  bool
	ItemsKept float64
	// CutRelated breaks the related items off after the share RelatedKept,
	// without an error.
	CutRelated  bool
	RelatedKept float64
	// NodesKept spares the nodes of the clusters from CutRelated, which makes
	// the cut invisible within one answer.
	NodesKept bool
}

type sessionKey struct{}

// WithSession returns a context that carries the session.
func WithSession(ctx context.Context, session Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// SessionFrom returns the session of a context; without one nothing is granted.
func SessionFrom(ctx context.Context) Session {
	session, ok := ctx.Value(sessionKey{}).(Session)
	if !ok {
		return Session{Denied: errors.New("the request has no session")}
	}
	return session
}
