// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"slices"
	"time"
)

// Faults are the intended faults of the server. The zero value is a healthy service. If several faults answer
// a request, the first one in the order of the service applies.
type Faults struct {
	// Only limits all faults except Refuse to some requests. nil means all requests.
	Only func(Request) bool

	// Refuse closes the port, so that connections are refused.
	Refuse bool
	// Delay is the time before the server handles a request.
	Delay time.Duration
	// TimedOut returns 503, like the service's own timeout.
	TimedOut bool
	// DatabaseDown returns 503, as if the database had been unavailable for a second.
	DatabaseDown bool
	// Status returns this status with the service's text for it: 401, 403 or 500 as from authentication,
	// others with the standard text.
	Status int
	// NotJSON returns 200 with a page that is not JSON, like a router.
	NotJSON bool
	// BreakOff closes the connection in the middle of the body.
	BreakOff bool
	// NullResult returns 200 with null data and no errors.
	NullResult bool

	// AccessUnresolved returns 200 with errors and a null result, as if the service may not review the
	// caller's permissions.
	AccessUnresolved bool
	// FineGrained is fine-grained access control: a caller without all permissions gets no rows.
	FineGrained bool
	// PseudoNodeFirst makes the service treat the first managed cluster as the hub. A caller with the
	// permission for all managed data then gets no rows of that cluster, and gets the hub's rows.
	PseudoNodeFirst bool
	// Lost lists clusters with missing rows.
	Lost []string

	// DatabaseGone returns 200 with errors "failed to connect", as in the first second without the database.
	DatabaseGone bool
	// StatementTimeout returns 200 with errors, and with null items and related items.
	StatementTimeout bool
	// CutItems returns only the share ItemsKept of the items, with 200 and no error.
	CutItems  bool
	ItemsKept float64
	// CutRelated returns only the share RelatedKept of the related items of each kind, with 200 and no error.
	// NodesKept keeps the nodes of clusters.
	CutRelated  bool
	RelatedKept float64
	NodesKept   bool
}

// Request contains the properties by which a fault can select requests.
type Request struct {
	// Number is the number of the GraphQL request at this server, from 1.
	Number int
	// Clusters are the values of all filters on the cluster.
	Clusters []string
}

// Names reports whether the request filters for one of the clusters.
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
