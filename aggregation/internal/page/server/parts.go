// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/live"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// Options of a server.
type Options struct {
	Fleet        *model.Fleet
	Applications Applications
	Identity     Identity
	// Synced reports whether the fleet is known since the start.
	Synced func() bool
	// Hosts are the names under which the page is served.
	Hosts []string
	// Secure: it is served over TLS, and so is its cookie.
	Secure bool
	// ArgoCDURL is that of the hub's Argo CD; empty: it is not linked to.
	ArgoCDURL string
	// ArgoCDOf returns the address of a managed cluster's Argo CD, "" when it is not
	// known; nil: of none it is.
	ArgoCDOf func(ctx context.Context, cluster string) string
	Log      logr.Logger
	Now      func() time.Time
}

// Server is the page. [New] makes one.
type Server struct {
	Options
	ui      *ui.UI
	pages   *pages
	gate    *gate
	limits  *limits
	hub     *live.Hub
	hosts   map[string]struct{}
	recheck time.Duration
	ping    time.Duration
	idle    *time.Timer
}

// forgetAfter is how long the fleet is remembered after the last request.
const forgetAfter = time.Minute

// used puts off the time at which the fleet is forgotten.
func (s *Server) used() { s.idle.Reset(forgetAfter) }
