// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// appPage shows everything about one Application.
func (p *pages) appPage(v *visit) (any, error) {
	item, found := v.fleet.Find(types.NamespacedName{Namespace: v.r.PathValue("namespace"), Name: v.r.PathValue("name")})
	if !found {
		return nil, notFound("There is no such Application that you may see.")
	}
	a := item.Row
	view := ui.App{
		Base: p.base(v, "app", a.Name), Name: a.Name, Cluster: a.Cluster,
		Health: a.Health, Sync: a.Sync, Phase: a.Phase, Revision: a.Revision,
		Stale: a.Stale, Started: v.since(a.Started), Links: p.argo.links(v, a),
	}
	if a.State != "" {
		view.State, view.StateSince = string(a.State), ui.NewWhen(a.Since, v.now)
	}
	if view.Stale {
		view.Since = ui.NewWhen(v.fleet.Cluster(a.Cluster).Since, v.now)
	}
	for _, c := range a.Conditions {
		cause := model.NewCause(c, a)
		view.Conditions = append(view.Conditions, ui.Condition{Type: c.Type, Message: c.Message, Warning: cause.Warning(), Path: join("errors", cause.Hash())})
	}
	view.Kubectl = []ui.Command{
		{What: "The Application on the hub, with its conditions and Events", Line: kubectl("describe applications.argoproj.io", a.Name, a.Namespace)},
	}
	if a.Cluster != "" {
		view.ClusterPath = join("clusters", a.Cluster)
		line := findWork(a)
		if a.State == model.Rendered { // its status names the ManifestWork
			view.Work, line = a.Cluster+"/"+a.Work, kubectl("get "+works, a.Work, a.Cluster)+" -o yaml"
		}
		view.Kubectl = append(view.Kubectl, ui.Command{What: "What was delivered, and what the work agent says", Line: line})
	}
	if item.Set.Key.Name != "" {
		view.SetName, view.SetPath = item.Set.Key.String(), setPath(item.Set)
		view.Kubectl = append(view.Kubectl, ui.Command{What: "The report of its ApplicationSet", Line: kubectl("get multiclusterapplicationsetreports.apps.open-cluster-management.io", item.Set.Key.Name, item.Set.Key.Namespace) + " -o yaml"})
	}
	return view, nil
}

const works = "manifestworks.work.open-cluster-management.io"

// findWork returns a command for the ManifestWork of a pulled Application. After a restore or a move of
// the hub, the ManifestWork keeps the name with the Application's earlier UID.
func findWork(a *model.App) string {
	return "kubectl get " + works + " -n " + shell(a.Cluster) + " -o json | jq --arg app " + shell(a.Namespace+"/"+a.Name) +
		` '.items[] | select(.metadata.annotations | .["` + contract.HubNamespaceAnnotation + `"] + "/" + .["` + contract.HubNameAnnotation + `"] == $app)'`
}

var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// kubectl returns a command for a shell. It quotes a name that is not valid in Kubernetes, because
// the name may come from an annotation.
func kubectl(verb, name, namespace string) string {
	return "kubectl " + verb + " " + shell(name) + " -n " + shell(namespace)
}

func shell(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hubPage lists the Applications with a state.
func (p *pages) hubPage(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	selected := v.r.URL.Query().Get("state")
	if selected != "" && !slices.Contains(model.States, model.State(selected)) {
		return nil, wrongState(selected)
	}
	all := v.fleet.Undelivered()
	listed := all
	if selected != "" {
		listed = p.undelivered(v, func(a *model.App) bool { return string(a.State) == selected })
	}
	id := func(a *model.App) string { return model.ID(a.Key().String()) }
	at := model.Slice(len(listed), q)
	rows, order := shown(v, all, listed, at, id)
	view := ui.Hub{Base: p.base(v, "hub", "Not delivered"), States: states(all, selected), Order: order, Pager: paged(at, "/hub", q)}
	for _, to := range []*string{&view.Pager.Next, &view.Pager.Previous} {
		if *to != "" && selected != "" {
			*to += map[bool]string{true: "&", false: "?"}[strings.Contains(*to, "?")] + "state=" + selected
		}
	}
	for _, a := range rows {
		view.Rows = append(view.Rows, ui.HubApp{
			ID: id(a), State: string(a.State), Path: join("apps", a.Namespace, a.Name), Name: a.Name, Namespace: a.Namespace, Set: a.Set, Cluster: a.Cluster,
			Message: a.Message, Health: a.Health, Sync: a.Sync, Since: ui.NewWhen(a.Since, v.now),
			Kubectl: kubectl("describe applications.argoproj.io", a.Name, a.Namespace),
		})
	}
	return view, nil
}

func wrongState(selected string) error {
	names := make([]string, len(model.States))
	for i, state := range model.States {
		names[i] = string(state)
	}
	return wrongQuery(fmt.Errorf("state=%.40q: want %s", selected, strings.Join(names, ", ")))
}
