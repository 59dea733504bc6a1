// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"slices"
	"time"
)

// Faults is what the server does wrong on purpose. The zero value is a healthy
// service. Faults combine; the first that answers a request wins, in the order
// in which the service would meet them.
type Faults struct {
	// Only limits all faults but Refuse to some requests; nil means all.
	Only func(Request) bool

	// Refuse closes the port: connections are refused.
	Refuse bool
	// Delay is waited before a request is handled.
	Delay time.Duration
	// TimedOut answers 503 as after the service's own timeout.
	TimedOut bool
	// DatabaseDown returns 503, as if the database had been unavailable for a second.
	DatabaseDown bool
	// Status answers with this status and the service's text for it: 401, 403
	// or 500 as from authentication, others with none.
	Status int
	// NotJSON answers 200 with a page that is not JSON, as a router does.
	NotJSON bool
	// BreakOff ends the connection in the middle of the body.
	BreakOff bool
	// NullResult answers 200 with data that is null and no errors.
	NullResult bool

	// AccessUnresolved returns 200 with errors and a null result, as if the service may not review
	// the caller's rights.
	AccessUnresolved bool
	// FineGrained is fine-grained access control: a caller without all rights sees nothing.
	FineGrained bool
	// PseudoNodeFirst makes the service mistake the first managed cluster for the hub. A caller
	// with the right on all managed data silently loses it, and sees the hub.
	PseudoNodeFirst bool
	// Lost lists clusters without rows.
	Lost []string

	// DatabaseGone answers 200 with errors "failed to connect", as in the first
	// second without the database.
	DatabaseGone bool
	// StatementTimeout answers 200 with errors, items and related null.
	StatementTimeout bool
	// CutItems breaks items off after the share ItemsKept, 200 and no error.
	CutItems  bool
	ItemsKept float64
	// CutRelated breaks related items off after the share RelatedKept of each
	// kind, 200 and no error; NodesKept spares the nodes of clusters.
	CutRelated  bool
	RelatedKept float64
	NodesKept   bool
}

// Request is what a fault can choose by.
type Request struct {
	// Number counts the GraphQL requests of this server, from 1.
	Number int
	// Clusters are the values of all filters on the cluster.
	Clusters []string
}

// Names reports whether the request asks for one of the clusters.
func (r Request) Names(clusters ...string) bool {
	return slices.ContainsFunc(clusters, func(c string) bool { return slices.Contains(r.Clusters, c) })
}

// of returns the faults of one request.
func (f Faults) of(request Request) Faults {
	if f.Only != nil && !f.Only(request) {
		return Faults{}
	}
	return f
}
