// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"fmt"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const (
	searchQuery = `query resourcesync($input: [SearchInput]) { searchResult: search(input: $input) { count items related { kind items } } }`
	itemsQuery  = `query resourcesyncItems($input: [SearchInput]) { searchResult: search(input: $input) { count items } }`
	valuesQuery = `query resourcesyncValues($property: String!, $query: SearchInput, $limit: Int) { searchComplete(property: $property, query: $query, limit: $limit) }`

	// pulled is the label of an Application that was delivered for an ApplicationSet.
	pulled = "apps.open-cluster-management.io/application-set=true"
	// noLimit requests all rows. The default cuts an answer at 1000 rows without a notice.
	noLimit = -1
)

type input struct {
	Filters []filter `json:"filters"`
	Limit   int      `json:"limit"`
}

type filter struct {
	Property string   `json:"property"`
	Values   []string `json:"values"`
}

// applications filters by the plural and never by the kind. A filter value "Application" makes the
// server follow relations three levels deep. Such a request costs about fifteen times more and
// mixes up Applications that share an object.
func applications(more ...filter) input {
	return input{Limit: noLimit, Filters: append([]filter{
		{Property: "kind_plural", Values: []string{"applications"}},
		{Property: "apigroup", Values: []string{"argoproj.io"}},
		{Property: "label", Values: []string{pulled}},
	}, more...)}
}

// Applications returns the pulled Applications on those clusters with their resources. Related is
// complete as far as an answer can show: each Application that a resource names is in it with its
// cluster. The caller keeps earlier answers. last is the digest of an earlier answer about the same
// clusters, or zero. An answer with that digest is returned as unchanged and is not decoded.
func (c *Client) Applications(ctx context.Context, clusters []string, last Digest) (*Result, error) {
	if len(clusters) == 0 {
		return &Result{}, nil // an empty filter would mean all clusters
	}
	r, err := c.search(ctx, searchQuery, applications(filter{Property: "cluster", Values: withWildcard(clusters)}), last)
	if err != nil || r.Unchanged {
		return r, err
	}
	if err := related(r); err != nil {
		return nil, err
	}
	return r, nil
}

// Clusters returns the rows of the clusters that the account may see. Objects on the clusters may be
// among them ([Item.IsCluster]). The group leaves out those of other APIs, such as databases.
func (c *Client) Clusters(ctx context.Context) (*Result, error) {
	return c.search(ctx, itemsQuery, input{Limit: noLimit, Filters: []filter{
		{Property: "kind", Values: []string{"Cluster"}},
		{Property: "apigroup", Values: []string{contract.ClusterGroup}},
	}}, Digest{})
}

// ClustersWithApplications returns the clusters that have pulled Applications. Nothing in the
// answer shows whether it is complete. A cluster that is not in the answer may still have some.
func (c *Client) ClustersWithApplications(ctx context.Context) ([]string, error) {
	var values []string
	err := c.post(ctx, graphQLRequest{Query: valuesQuery, Variables: map[string]any{
		"property": "cluster", "query": applications(), "limit": noLimit,
	}}, func(body []byte) error {
		a, err := decode(body, roomFor(c.options.MaxBytes))
		switch {
		case err != nil:
			return err
		case len(a.errors) > 0:
			return a.errors[0].classify()
		case !a.data:
			return &Error{Kind: KindMalformed, Detail: "neither data nor errors"}
		}
		values = a.values
		return nil
	})
	return values, err
}

// search returns the result of an input when it is whole.
func (c *Client) search(ctx context.Context, query string, in input, last Digest) (*Result, error) {
	var r *Result
	err := c.post(ctx, graphQLRequest{Query: query, Variables: map[string]any{"input": []input{in}}}, func(body []byte) (err error) {
		if r = unchanged(body, last); r == nil {
			r, err = only(decode(body, roomFor(c.options.MaxBytes)))
		}
		return err
	})
	return r, err
}

// unchanged returns the result of an answer when its digest is last, else nil.
func unchanged(body []byte, last Digest) *Result {
	if last == (Digest{}) {
		return nil
	}
	r, err := only(scan(body))
	if err != nil || r.Digest != last {
		return nil // decoding reports the problem
	}
	r.Unchanged = true
	return r
}

// withWildcard replaces the last letter of a cluster's name "application" by a wildcard. Any filter value of
// that name makes the server follow relations three levels deep. The wildcard keeps it at one, and
// hardly matches another cluster.
func withWildcard(clusters []string) []string {
	for i, name := range clusters {
		if strings.EqualFold(name, "application") {
			out := append([]string(nil), clusters...)
			out[i] = name[:len(name)-1] + "*"
			return out
		}
	}
	return clusters
}

// related checks the relations in an answer. A resource of an Application has a relation to its
// Cluster, and the Cluster has a relation to the Application.
func related(r *Result) error {
	onCluster := map[string]bool{} // by UID of an Application that a Cluster names
	clusters := map[string]bool{}
	for i := range r.Related {
		if it := &r.Related[i]; it.IsCluster() {
			clusters[it.Name] = true
			for _, uid := range it.RelatedUIDs {
				onCluster[uid] = true
			}
		}
	}
	for i := range r.Related {
		it := &r.Related[i]
		if it.IsCluster() {
			continue
		}
		if !clusters[it.Cluster] {
			return &Error{Kind: KindIncomplete, Detail: fmt.Sprintf("resources on cluster %s, but not the cluster itself", it.Cluster)}
		}
		for _, uid := range it.RelatedUIDs {
			if !onCluster[uid] {
				return &Error{Kind: KindIncomplete, Detail: fmt.Sprintf("a resource of %s, which the cluster does not name", uid)}
			}
		}
	}
	return nil
}

// IsCluster reports whether a row is a managed cluster, not an object on one.
func (it *Item) IsCluster() bool {
	return it.Kind == "Cluster" && strings.HasPrefix(it.UID, "cluster__")
}
