// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/internal/graph"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

var (
	errAccess      = errors.New("unable to resolve query because of error while resolving user's access")
	errStatement   = errors.New("ERROR: canceling statement due to statement timeout (SQLSTATE 57014)")
	errUnreachable = errors.New("failed to connect to `host=search-postgres user=search_api_ro database=search`: " +
		"dial error (connect: connection refused)")
)

// authenticate establishes the caller and what it may see.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if cookie, err := r.Cookie(cookieName); err == nil {
			token = cookie.Value
		}
		if token == "" {
			http.Error(w, textNoToken, http.StatusUnauthorized)
			return
		}
		session, err := s.session(r.Context(), token)
		switch {
		case errors.Is(err, access.ErrInvalidToken):
			http.Error(w, textBadToken, http.StatusForbidden)
		case err != nil:
			http.Error(w, textAuthFailed, http.StatusInternalServerError)
		default:
			next.ServeHTTP(w, r.WithContext(graph.WithSession(r.Context(), session)))
		}
	})
}

// session returns what the owner of a token may see and what goes wrong.
func (s *Server) session(ctx context.Context, token string) (graph.Session, error) {
	caller, err := s.options.Reviewer.Authenticate(ctx, token)
	if err != nil {
		return graph.Session{}, err
	}
	faults := faultsOf(ctx)
	grant, denied := s.grant(ctx, caller, faults)
	session := graph.Session{Disturbance: faults.disturbance(), Denied: denied}
	session.Scope = table.Scope{
		Everything:      grant.Everything,
		Managed:         grant.AllManaged,
		Clusters:        grant.Clusters,
		PseudoNodeFirst: faults.PseudoNodeFirst,
		Hidden:          map[string]bool{},
	}
	for _, cluster := range faults.Lost {
		session.Scope.Hidden[cluster] = true
	}
	return session, nil
}

// grant returns what the caller may see, or the error that the answer carries.
func (s *Server) grant(ctx context.Context, caller access.Caller, faults Faults) (access.Grant, error) {
	grant, err := s.options.Reviewer.Authorize(ctx, caller, s.table.Clusters())
	switch {
	case err != nil && ctx.Err() == nil:
		s.options.Log.Error(err, "A caller's access cannot be resolved", "caller", caller.Name)
		return access.Grant{}, errAccess
	case err != nil || faults.AccessUnresolved:
		return access.Grant{}, errAccess
	case faults.FineGrained && !grant.Everything:
		return access.Grant{}, nil
	}
	return grant, nil
}

// disturbance returns the faults that concern statements.
func (f Faults) disturbance() graph.Disturbance {
	d := graph.Disturbance{
		CutItems:    f.CutItems,
		ItemsKept:   f.ItemsKept,
		CutRelated:  f.CutRelated,
		RelatedKept: f.RelatedKept,
		NodesKept:   f.NodesKept,
	}
	switch {
	case f.DatabaseGone:
		d.Statement = errUnreachable
	case f.StatementTimeout:
		d.Statement = errStatement
	}
	return d
}
