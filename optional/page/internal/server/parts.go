// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// Options of a server.
type Options struct {
	Fleet    *model.Fleet
	Identity Identity
	// Synced reports whether the fleet is known since the start.
	Synced func() bool
	// Leases returns when the controllers last said that they work.
	Leases func() []model.Lease
	// Resources returns what an ApplicationSet deploys.
	Resources func(ctx context.Context, set types.NamespacedName) ([]v1alpha1.ResourceRef, error)
	// Hosts are the names under which the page is served.
	Hosts []string
	// Secure: it is served over TLS, and so is its cookie.
	Secure bool
	// ArgoCDURL is that of the hub's Argo CD; empty: it is not linked to.
	ArgoCDURL string
	Log       logr.Logger
	Now       func() time.Time
}

// Server is the page. [New] makes one.
type Server struct {
	Options
	ui     *ui.UI
	pages  *pages
	gate   *gate
	limits *limits
	hosts  map[string]struct{}
	// forms are the login's, by what they complain of.
	forms map[string][]byte
	// process tells the versions of this process from those of another.
	process string
}
