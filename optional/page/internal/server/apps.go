// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
)

// maxRevisions is how many revisions of an ApplicationSet are shown.
const maxRevisions = 8

// allApps lists every Application.
func (p *pages) allApps(v *visit) (any, error) {
	view := &ui.Apps{Base: p.base(v, "apps", "Applications"), Heading: "Applications"}
	return p.list(v, view, model.Items(v.fleet.Sets, ""), nil)
}

// setPage lists the Applications of one ApplicationSet.
func (p *pages) setPage(v *visit) (any, error) {
	set, err := p.set(v)
	if err != nil {
		return nil, err
	}
	view := &ui.Apps{Base: p.base(v, "apps", set.Key.Name), Heading: set.Key.Name, Sub: "ApplicationSet in " + set.Key.Namespace, Only: set.Key.String()}
	view.Hub = states(p.undelivered(v, func(a *model.App) bool {
		return a.Namespace == set.Key.Namespace && a.Set == set.Key.Name
	}), "")
	if v.r.Header.Get(fragmentHeader) == "" {
		p.addResources(v, view, set.Key)
	}
	revisions := set.Revisions()
	if len(revisions) == 1 {
		revisions = nil // no rollout is running
	}
	for _, r := range revisions[:min(len(revisions), maxRevisions)] {
		if r.Name != "" {
			view.Revisions = append(view.Revisions, ui.Link{Name: r.Name, Count: r.Count, Path: address(setPath(set), model.Query{Revision: r.Name})})
		}
	}
	return p.list(v, view, model.Items([]*model.Set{set}, ""), nil)
}

// addResources adds the resources in the report of an ApplicationSet.
func (p *pages) addResources(v *visit, view *ui.Apps, set types.NamespacedName) {
	resources, err := p.resources(v.r.Context(), set)
	if err != nil {
		p.log.Error(err, "cannot show resources")
		view.Unread = true
	}
	for _, r := range resources {
		view.Resources = append(view.Resources, ui.Resource{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
}

// clusterPage lists the Applications on one cluster.
func (p *pages) clusterPage(v *visit) (any, error) {
	cluster := v.r.PathValue("cluster")
	items := model.Items(v.fleet.Sets, cluster)
	if len(items) == 0 {
		return nil, notFound("There is no cluster of that name with an Application that you may see.")
	}
	managed := v.fleet.Cluster(cluster)
	view := &ui.Apps{Base: p.base(v, "apps", cluster), Heading: cluster, Sub: "Cluster"}
	view.Cluster = &ui.ClusterStatus{Stale: !managed.Available, Since: ui.NewWhen(managed.Since, v.now), Message: managed.Message}
	view.Hub = states(p.undelivered(v, func(a *model.App) bool { return a.Cluster == cluster }), "")
	return p.list(v, view, items, nil)
}

// errorPage lists the Applications with one error.
func (p *pages) errorPage(v *visit) (any, error) {
	hash := v.r.PathValue("hash")
	groups := v.fleet.Groups()
	at := slices.IndexFunc(groups, func(g model.Group) bool { return g.Hash() == hash })
	if at < 0 {
		return nil, notFound("No Application that you may see says so any more.")
	}
	g := groups[at]
	view := &ui.Apps{Base: p.base(v, "apps", g.Type()), Heading: "Applications with this error"}
	view.Error = &ui.Condition{Type: g.Type(), Message: g.Text(), Warning: g.Warning()}
	return p.list(v, view, model.Filter(model.Items(v.fleet.Sets, ""), model.Query{Error: hash}), &g)
}

// list fills a page with Applications.
func (p *pages) list(v *visit, view *ui.Apps, items []model.Item, of *model.Group) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	path := v.r.URL.EscapedPath()
	var total model.Counts
	for _, i := range items {
		total.Add(i.Row)
	}
	view.Counts = counts(total, path, q)
	view.Facets = facets(model.FacetsOf(items, q), path, q)
	view.Search = search(path, "name, cluster, revision or message", q)
	sorted := slices.Clone(model.Filter(items, q))
	model.Sort(sorted, q)
	at := model.Slice(len(sorted), q)
	rows, order := shown(v, items, sorted, at, model.Item.ID)
	view.Table = ui.Table{Caption: view.Heading, Order: order, Columns: columns(path, q)}
	for _, i := range rows {
		row := p.row(v, i, of)
		if row.SetName == view.Only {
			row.SetName = "" // the heading has it
		}
		view.Table.Rows = append(view.Table.Rows, row)
	}
	view.Pager = paged(at, path, q)
	return *view, nil
}

func (p *pages) row(v *visit, i model.Item, of *model.Group) ui.Row {
	a := i.Row
	row := ui.Row{
		ID: i.ID(), Path: join("apps", a.Namespace, a.Name), Name: a.Name, SetName: i.Set.Key.String(), Cluster: a.Cluster,
		Health: a.Health, Sync: a.Sync, Phase: a.Phase, Revision: a.Revision, State: string(a.State),
		Stale: a.Stale, Started: v.since(a.Started),
	}
	if a.Cluster != "" {
		row.ClusterPath = join("clusters", a.Cluster)
	}
	if row.Stale {
		row.Since = ui.NewWhen(v.fleet.Cluster(a.Cluster).Since, v.now)
	}
	for _, c := range a.Conditions {
		if of != nil && model.NewCause(c, a) != of.Cause {
			continue // on the page of an error, the message is the heading
		}
		row.Condition = &ui.Condition{Type: c.Type, Message: c.Message}
		break
	}
	if row.Condition != nil {
		row.More = len(a.Conditions) - 1
	}
	return row
}

func columns(path string, q model.Query) []ui.Link {
	sorts := []struct{ name, sort string }{
		{"Application", model.SortName}, {"Cluster", model.SortCluster}, {"Operation", model.SortStarted}, {"Revision", model.SortRevision},
	}
	links := make([]ui.Link, 0, len(sorts))
	for _, c := range sorts {
		to := q
		to.Sort, to.Page = c.sort, 1
		current := q.Sort == c.sort
		if current {
			to.Sort = model.SortWorst
		}
		links = append(links, ui.Link{Name: c.name, Path: address(path, to), Current: current})
	}
	return links
}

func facets(f model.Facets, path string, q model.Query) []ui.Filter {
	q.Page = 1
	filter := func(name string, values []model.Facet, state bool, field func(*model.Query) *string) ui.Filter {
		view := ui.Filter{Name: name}
		for _, value := range values {
			to := q
			link := ui.Link{Name: value.Value, Count: value.Count, State: state, Current: *field(&to) == value.Value}
			*field(&to) = value.Value
			if link.Current {
				*field(&to) = ""
			}
			link.Path = address(path, to)
			view.Values = append(view.Values, link)
		}
		return view
	}
	return []ui.Filter{
		filter("Health", f.Health, true, func(q *model.Query) *string { return &q.Health }),
		filter("Sync", f.Sync, true, func(q *model.Query) *string { return &q.Sync }),
		filter("Operation", f.Phase, false, func(q *model.Query) *string { return &q.Phase }),
		errorFilter(f.Errors, path, q),
	}
}

// errorFilter returns links to the most frequent errors, and to the selected one.
func errorFilter(errors []model.ErrorFacet, path string, q model.Query) ui.Filter {
	view := ui.Filter{Name: "Error"}
	for i, e := range errors {
		to, current := q, e.Hash() == q.Error
		if i >= largest && !current {
			continue
		}
		if to.Error = e.Hash(); current {
			to.Error = ""
		}
		view.Values = append(view.Values, ui.Link{Name: e.Type(), Text: e.Text(), Count: e.Count, Current: current, Path: address(path, to)})
	}
	return view
}
