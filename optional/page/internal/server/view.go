// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/url"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// address returns a path with a query.
func address(path string, q model.Query) string {
	if values := q.Values().Encode(); values != "" {
		return path + "?" + values
	}
	return path
}

// join returns a path of names. Each name stays one segment.
func join(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}

// counts returns the view of counts. Each health links to path, filtered by it.
func counts(c model.Counts, path string, q model.Query) ui.Counts {
	view := ui.Counts{
		Applications: c.Applications, Healthy: c.Healthy(), NotHealthy: c.NotHealthy(), OutOfSync: c.OutOfSync(), Failed: c.Failed(),
	}
	at := 0
	for i, health := range model.Healths {
		n := c.Health[i]
		to := q
		to.Health, to.Page = health, 1
		current := q.Health == health
		if current {
			to.Health = ""
		}
		link := ui.Link{Name: health, Count: n, Path: address(path, to), Current: current}
		view.Health = append(view.Health, link)
		if n == 0 {
			continue
		}
		if health != model.Healths[len(model.Healths)-1] {
			view.Worst = append(view.Worst, link)
		}
		// Each part is visible, however small its share.
		width := max(4, n*1000/c.Applications)
		view.Bar = append(view.Bar, ui.Segment{Class: strings.ToLower(health), X: at, Width: width})
		at += width
	}
	view.Sync = links(model.Syncs, c.Sync[:], argocd.SyncSynced, path, func(name string) model.Query { return model.Query{Sync: name} })
	view.Operations = links(model.Phases[:running+1], c.Phase[:], "", path, func(name string) model.Query { return model.Query{Phase: name} })
	return view
}

// running is the index of the last phase that is shown. Later ones are successful.
var running = slices.Index(model.Phases, argocd.OperationRunning)

// links returns a link for each count, filtered by its name. It leaves out fine ones.
func links(names []string, counts []int, fine, path string, query func(name string) model.Query) (all []ui.Link) {
	for i, name := range names {
		if counts[i] > 0 && name != fine {
			all = append(all, ui.Link{Name: name, Count: counts[i], Path: address(path, query(name))})
		}
	}
	return all
}

// paged returns the view of a page of a list.
func paged(p model.Page, path string, q model.Query) ui.Paged {
	view := ui.Paged{Page: ui.Pager{From: p.From, To: p.To, Total: p.Total, Beyond: p.Beyond}}
	if p.Number > 1 {
		q.Page = p.Number - 1
		view.Previous = address(path, q)
	}
	if p.Number < p.Last {
		q.Page = p.Number + 1
		view.Next = address(path, q)
	}
	return view
}

// shown returns the items of a page, and the IDs of the items that belong there now. For a page
// that is open already, it returns the items that the page shows, in the same order.
func shown[T any](v *visit, all, sorted []T, p model.Page, id func(T) string) (items []T, order string) {
	belong := sorted[max(0, p.From-1):p.To]
	ids := make([]string, len(belong))
	for i := range belong {
		ids[i] = id(belong[i])
	}
	order = strings.Join(ids, " ")
	stand := strings.Fields(v.r.Header.Get(rowsHeader))
	if len(stand) == 0 {
		return belong, order
	}
	if len(stand) > model.MaxSize {
		stand = stand[:model.MaxSize]
	}
	places := make(map[string]int, len(stand))
	for i, s := range stand {
		places[s] = i
	}
	found := make([]*T, len(stand))
	for i := range all {
		if at, ok := places[id(all[i])]; ok {
			found[at] = &all[i]
		}
	}
	for _, f := range found {
		if f != nil {
			items = append(items, *f)
		}
	}
	return items, order
}

func search(path, hint string, q model.Query) ui.Search {
	view := ui.Search{Action: path, Text: q.Text, Hint: hint}
	text := q.Text
	q.Text, q.Page = "", 1
	for name, values := range q.Values() {
		view.Hidden = append(view.Hidden, ui.Hidden{Name: name, Value: values[0]})
	}
	slices.SortFunc(view.Hidden, func(a, b ui.Hidden) int { return strings.Compare(a.Name, b.Name) })
	if text != "" || q.Health != "" || q.Sync != "" || q.Phase != "" || q.Error != "" || q.Revision != "" {
		view.Clear = path
	}
	return view
}

// states counts the Applications of the hub by state. It leaves out those without a state.
func states(apps []*model.App, selected string) []ui.Link {
	var links []ui.Link
	for _, state := range model.States {
		n := 0
		for i := range apps {
			if apps[i].State == state {
				n++
			}
		}
		if n == 0 && selected != string(state) {
			continue
		}
		link := ui.Link{Name: string(state), Count: n, Path: "/hub?state=" + string(state)}
		if link.Current = selected == string(state); link.Current {
			link.Path = "/hub"
		}
		links = append(links, link)
	}
	return links
}
