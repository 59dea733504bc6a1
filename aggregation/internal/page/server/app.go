// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// appPage is all that is known about one Application on one cluster.
func (p *pages) appPage(v *visit) (any, error) {
	item, found := p.find(v)
	if !found {
		return nil, notFound("There is no such Application on that cluster that you may see.")
	}
	id, row := model.IdentityOf(item.Row), item.Row
	view := ui.App{
		Base: p.base(v, "app", id.Name, "set:"+item.Set.Key.String()),
		Name: id.Name, SetName: item.Set.Key.String(), SetPath: setPath(item.Set), Cluster: id.Cluster, ClusterPath: join("clusters", id.Cluster),
		Health: model.Health(row), Sync: model.Sync(row), Phase: model.Phase(row), Revision: row.SyncRevision, Work: id.Cluster + "/" + id.Work,
		SearchStale: row.StaleSince, Stale: model.Stale(row), Started: v.since(row.OperationStateStartedAt), Links: p.argo.links(v, id),
	}
	if view.Stale {
		view.Since = ui.NewWhen(p.fleet.Cluster(id.Cluster).Since, v.now)
	}
	for _, c := range row.Conditions {
		cause := model.NewCause(c, id.Cluster, id.Namespace, id.Name)
		view.Conditions = append(view.Conditions, ui.Condition{Type: c.Type, Message: c.Message, Warning: cause.Warning(), Path: join("errors", cause.Hash())})
	}
	view.Kubectl = []ui.Command{
		{What: "The Application on the hub, with its conditions and Events", Line: kubectl("describe applications.argoproj.io", id.Name, id.Namespace)},
		{What: "What was delivered, and what the work agent says", Line: kubectl("get manifestworks.work.open-cluster-management.io", id.Work, id.Cluster) + " -o yaml"},
		{What: "The report of its ApplicationSet", Line: kubectl("get multiclusterapplicationsetreports.apps.open-cluster-management.io", item.Set.Key.Name, item.Set.Key.Namespace) + " -o yaml"},
	}
	return view, nil
}

// find returns the Application of the address. An ApplicationSet and its Applications
// are in one namespace.
func (p *pages) find(v *visit) (model.Item, bool) {
	namespace, name, cluster := v.r.PathValue("namespace"), v.r.PathValue("name"), v.r.PathValue("cluster")
	if !v.allowed(namespace) {
		return model.Item{}, false
	}
	for _, set := range p.fleet.Sets(func(ns string) bool { return ns == namespace }) {
		for _, row := range set.On(cluster) {
			if id := model.IdentityOf(row); id.Name == name && id.Namespace == namespace {
				return model.Item{Set: set, Row: row}, true
			}
		}
	}
	return model.Item{}, false
}

var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// kubectl returns a line for a shell. A name that is none of Kubernetes' is quoted: it
// may have come from an annotation.
func kubectl(verb, name, namespace string) string {
	return "kubectl " + verb + " " + shell(name) + " -n " + shell(namespace)
}

func shell(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hubPage lists the Applications of the hub that have something to say.
func (p *pages) hubPage(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	selected := v.r.URL.Query().Get("state")
	if selected != "" && !slices.Contains(hubapps.States, hubapps.State(selected)) {
		return nil, wrongState(selected)
	}
	all := p.applications.Applications(v.allowed)
	slices.SortFunc(all, hubapps.Compare)
	listed := slices.Clone(all)
	if selected != "" {
		listed = slices.DeleteFunc(listed, func(a *hubapps.Application) bool { return string(a.State) != selected })
	}
	at := model.Slice(len(listed), q)
	rows, order := shown(v, all, listed, at, func(a *hubapps.Application) string { return model.ID(a.Namespace + "/" + a.Name) })
	view := ui.Hub{Base: p.base(v, "hub", "Not delivered", "fleet"), States: states(all, selected), Order: order, Pager: paged(at, "/hub", q)}
	for _, to := range []*string{&view.Pager.Next, &view.Pager.Previous} {
		if *to != "" && selected != "" {
			*to += map[bool]string{true: "&", false: "?"}[strings.Contains(*to, "?")] + "state=" + selected
		}
	}
	for _, a := range rows {
		view.Rows = append(view.Rows, ui.HubApp{
			ID: model.ID(a.Namespace + "/" + a.Name), State: string(a.State), Name: a.Name, Namespace: a.Namespace, Set: a.Set, Cluster: a.Cluster,
			Message: a.Message, Health: a.Health, Sync: a.Sync, Since: ui.NewWhen(a.Since, v.now),
			Kubectl: kubectl("describe applications.argoproj.io", a.Name, a.Namespace),
		})
	}
	return view, nil
}

func wrongState(selected string) error {
	names := make([]string, len(hubapps.States))
	for i, state := range hubapps.States {
		names[i] = string(state)
	}
	return wrongQuery(fmt.Errorf("state=%.40q: want %s", selected, strings.Join(names, ", ")))
}
