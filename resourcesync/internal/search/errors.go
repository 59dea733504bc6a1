// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Kind distinguishes failures that need different reactions from a caller or from an
// operator. It is also the value of a metric's label.
type Kind string

// The kinds of failure.
const (
	// KindAbsent means that the service's name does not exist, or that nothing is served there.
	KindAbsent Kind = "absent"
	// KindUnreachable means that no connection was possible, or that it broke.
	KindUnreachable Kind = "unreachable"
	// KindTLS means that the server's certificate is not trusted, or that no roots can be loaded.
	KindTLS Kind = "tls"
	// KindTimeout means that no answer arrived in time, by our clock or by the server's.
	KindTimeout Kind = "timeout"
	// KindToken means that the token file cannot be used. Nothing was sent.
	KindToken Kind = "token"
	// KindUnauthenticated means that the server does not accept the token.
	KindUnauthenticated Kind = "unauthenticated"
	// KindAuthenticator means that the server could not review the token with Kubernetes.
	KindAuthenticator Kind = "authenticator"
	// KindAccess means that the server could not review the account's rights, or hides clusters
	// that the account should see.
	KindAccess Kind = "access"
	// KindDatabase means that the server has no connection with its database.
	KindDatabase Kind = "database"
	// KindStatement means that the database refused or cancelled a statement.
	KindStatement Kind = "statement"
	// KindQuery means that the server rejects the query, because the server has another version.
	KindQuery Kind = "query"
	// KindGraphQL means any other error that the server reports in its answer.
	KindGraphQL Kind = "graphql"
	// KindIncomplete means that an answer is valid in form, but not complete.
	KindIncomplete Kind = "incomplete"
	// KindMalformed means that an answer violates the contract.
	KindMalformed Kind = "malformed"
	// KindTooLarge means that an answer is larger than the limit. A smaller batch may fit.
	KindTooLarge Kind = "too_large"
	// KindStatus means an HTTP status that the contract does not name.
	KindStatus Kind = "status"
)

// Kinds are all kinds, in the order above.
var Kinds = []Kind{
	KindAbsent, KindUnreachable, KindTLS, KindTimeout, KindToken, KindUnauthenticated, KindAuthenticator, KindAccess,
	KindDatabase, KindStatement, KindQuery, KindGraphQL, KindIncomplete, KindMalformed, KindTooLarge, KindStatus,
}

// Error is a failed request.
type Error struct {
	Kind Kind
	// Status is the HTTP status. It is 0 without an answer.
	Status int
	// Detail is one line for an operator. It never has a token.
	Detail string
	// Err is the cause, or nil.
	Err error
}

// Error returns "search: <kind>: <detail>: <cause>".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("search: " + string(e.Kind))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, "" when it is no failed request.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// StatusOf returns the HTTP status of err, or 0.
func StatusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// Transient reports whether the same request may succeed a moment later. The
// others need a change of the configuration, or minutes: search v2 remembers a
// refused token for one.
func Transient(err error) bool {
	switch KindOf(err) {
	case KindUnreachable, KindTimeout, KindDatabase, KindStatement, KindGraphQL, KindIncomplete, KindMalformed, KindStatus:
		return true
	default:
		return false
	}
}

// line returns a server's message as one line of limited length.
func line(s string) string {
	const limit = 200
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
