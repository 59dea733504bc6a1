// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
)

// fewSets is how many ApplicationSets the first page shows, because it has other content as well.
const fewSets = 12

// fleetPage is the first page: a summary of everything that a viewer may see.
func (p *pages) fleetPage(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	all := v.fleet
	sets, clusters, groups := all.Sets, all.Clusters(), all.Groups()
	view := ui.Fleet{
		Base: p.base(v, "fleet", "All"), Counts: counts(all.Total, "/apps", model.Query{}), Legend: true,
		Sets: len(sets), Clusters: len(clusters), Hub: states(all.Undelivered(), ""),
		Errors: ui.Groups{List: groupViews(groups[:min(largest, len(groups))])}, Search: search("/", "name of an ApplicationSet", q),
	}
	if len(groups) > largest {
		view.MoreErrors = len(groups)
	}
	for i := range clusters {
		if clusters[i].Counts.Stale > 0 {
			view.StaleClusters++
		}
	}
	sorted := matching(all.Worst(), q, func(set *model.Set) string { return set.Key.String() })
	if v.r.URL.Query().Get("size") == "" {
		q.Size = fewSets
	}
	at := model.Slice(len(sorted), q)
	rows, order := shown(v, sets, sorted, at, func(set *model.Set) string { return model.ID(set.Key.String()) })
	for _, set := range rows {
		view.Rows = append(view.Rows, ui.Counted{
			ID: model.ID(set.Key.String()), Path: setPath(set), Name: set.Key.Name, Namespace: set.Key.Namespace,
			Counts: counts(set.Counts, setPath(set), model.Query{}), Clusters: set.Clusters,
		})
	}
	view.Order, view.Pager = order, paged(at, "/", q)
	return view, nil
}

// clustersPage lists the clusters, with the content of the heat map as a table.
func (p *pages) clustersPage(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	all := v.fleet.Clusters()
	sorted := matching(all, q, func(c model.ClusterCounts) string { return c.Name })
	at := model.Slice(len(sorted), q)
	rows, order := shown(v, all, sorted, at, func(c model.ClusterCounts) string { return model.ID(c.Name) })
	view := ui.List{Base: p.base(v, "clusters", "Clusters"), Order: order, Pager: paged(at, "/clusters", q), Search: search("/clusters", "name of a cluster", q)}
	for _, c := range rows {
		managed := v.fleet.Cluster(c.Name)
		path := join("clusters", c.Name)
		view.Rows = append(view.Rows, ui.Counted{
			ID: model.ID(c.Name), Path: path, Name: c.Name, Counts: counts(c.Counts, path, model.Query{}), Clusters: c.Sets,
			Stale: !managed.Available, Since: ui.NewWhen(managed.Since, v.now),
		})
	}
	return view, nil
}

// errorsPage lists all errors.
func (p *pages) errorsPage(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	groups := v.fleet.Groups()
	at := model.Slice(len(groups), q)
	rows, order := shown(v, groups, groups, at, func(g model.Group) string { return g.Hash() })
	return ui.Errors{
		Base: p.base(v, "errors", "Errors"), Errors: ui.Groups{Order: order, List: groupViews(rows)}, Pager: paged(at, "/errors", q),
	}, nil
}

func groupViews(groups []model.Group) []ui.Group {
	views := make([]ui.Group, 0, len(groups))
	for i := range groups {
		g := &groups[i]
		views = append(views, ui.Group{
			Hash: g.Hash(), Path: join("errors", g.Hash()), Type: g.Type(), Text: g.Text(), Warning: g.Warning(),
			Count: g.Count, Sets: g.Sets, Clusters: g.Clusters,
		})
	}
	return views
}
