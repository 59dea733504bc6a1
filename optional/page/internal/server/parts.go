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

// Options are the settings of a server.
type Options struct {
	Fleet    *model.Fleet
	Identity Identity
	// Synced reports whether the fleet is complete after the start.
	Synced func() bool
	// Leases returns the last renewals of the controllers' Leases.
	Leases func() []model.Lease
	// Resources returns the resources of an ApplicationSet.
	Resources func(ctx context.Context, set types.NamespacedName) ([]v1alpha1.ResourceRef, error)
	// Hosts are the host names under which the page is served.
	Hosts []string
	// Secure is true if the page is served over TLS, so that its cookie is sent over TLS only.
	Secure bool
	// ArgoCDURL is the address of the hub's Argo CD, or "" for no links.
	ArgoCDURL string
	Log       logr.Logger
	Now       func() time.Time
}

// Server serves the page. [New] returns one.
type Server struct {
	Options
	ui     *ui.UI
	pages  *pages
	gate   *gate
	limits *limits
	hosts  map[string]struct{}
	// forms are the login forms by complaint.
	forms map[string][]byte
	// process identifies this process in versions.
	process string
}
