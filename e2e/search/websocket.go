// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql/handler/transport"

	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/internal/graph"
)

// pingInterval is the service's.
const pingInterval = 10 * time.Second

// webSocket serves subscriptions in both protocols.
func (s *Server) webSocket() transport.Websocket {
	return transport.Websocket{
		InitFunc:              s.greet,
		KeepAlivePingInterval: pingInterval,
		PingPongInterval:      pingInterval,
		MissingPongOk:         true,
	}
}

// greet authenticates by the first message of a connection; headers and cookies
// do not count. An error ends the connection without a reason.
func (s *Server) greet(ctx context.Context, payload transport.InitPayload) (context.Context, *transport.InitPayload, error) {
	token := strings.TrimPrefix(payload.GetString("Authorization"), "Bearer ")
	if token == "" {
		return nil, nil, access.ErrInvalidToken
	}
	session, err := s.session(ctx, token)
	if err != nil {
		return nil, nil, err
	}
	session.Connection = &graph.Connection{}
	return graph.WithSession(ctx, session), &transport.InitPayload{}, nil
}
