// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/ui"
)

// argo has the addresses of Argo CDs.
type argo struct {
	// hub is that of the hub's; empty: it is not linked to.
	hub string
	// managed returns that of a managed cluster's, see [Options].
	managed func(ctx context.Context, cluster string) string
}

// links lead to the Argo CDs that show the Application.
func (a *argo) links(v *visit, id model.Identity) (links []ui.Link) {
	if to := a.onHub(id); to != "" {
		links = append(links, ui.Link{Name: "In the hub's Argo CD", Path: to})
	}
	if to := a.onManaged(v, id); to != "" {
		links = append(links, ui.Link{Name: "In the Argo CD of " + id.Cluster, Path: to})
	}
	return links
}

func (a *argo) onHub(id model.Identity) string {
	if a.hub == "" {
		return ""
	}
	return a.hub + join("applications", id.Namespace, id.Name)
}

// onManaged searches: on a managed cluster the Application may be in another namespace.
func (a *argo) onManaged(v *visit, id model.Identity) string {
	if a.managed == nil {
		return ""
	}
	address := a.managed(v.r.Context(), id.Cluster)
	if address == "" {
		return ""
	}
	return address + "/applications?search=" + url.QueryEscape(id.Name)
}

// hubApps returns the Applications of the hub that have something to say and that match.
func (p *pages) hubApps(v *visit, match func(*hubapps.Application) bool) []*hubapps.Application {
	return slices.DeleteFunc(p.applications.Applications(v.allowed), func(a *hubapps.Application) bool { return !match(a) })
}

// set returns the ApplicationSet of the address. One that the viewer may not see is not
// there: a request does not reveal what exists.
func (p *pages) set(v *visit) (*model.Set, error) {
	key := types.NamespacedName{Namespace: v.r.PathValue("namespace"), Name: v.r.PathValue("name")}
	if v.allowed(key.Namespace) {
		if set := p.fleet.Set(key); set != nil {
			return set, nil
		}
	}
	return nil, notFound("There is no ApplicationSet of that name that you may see.")
}

// largest is how many errors the first page shows.
const largest = 5

func setPath(set *model.Set) string { return join("sets", set.Key.Namespace, set.Key.Name) }

// pages makes views of what a viewer may see.
type pages struct {
	fleet        *model.Fleet
	applications Applications
	argo         argo
}

var menu = []ui.Link{
	{Name: "Fleet", Path: "/"}, {Name: "Applications", Path: "/apps"}, {Name: "Clusters", Path: "/clusters"},
	{Name: "Errors", Path: "/errors"}, {Name: "Not delivered", Path: "/hub"},
}

// base returns what every page has; live is the view that it follows.
func (p *pages) base(v *visit, name, title, live string) ui.Base {
	b := ui.Base{Page: name, Title: title, Live: live, Now: ui.NewWhen(v.now, v.now), Nav: slices.Clone(menu)}
	for i := range b.Nav {
		b.Nav[i].Current = b.Nav[i].Path == v.r.URL.Path
	}
	if v.viewer != nil {
		b.User = v.viewer.Name
	}
	if live != "" && !p.applications.Synced() {
		b.Notices = append(b.Notices, "The hub's Applications have not been read: what is refused, held or paused is missing here. aggregation needs the right to list and watch applications.argoproj.io.")
	}
	return b
}

// sets returns the ApplicationSets that the viewer may see.
func (p *pages) sets(v *visit) []*model.Set { return p.fleet.Sets(v.allowed) }

// Applications are those of the hub that have something to say; [hubapps.Watch] has them.
type Applications interface {
	Applications(allowed func(namespace string) bool) []*hubapps.Application
	// Namespaces returns those that have some, in no order, and maybe twice.
	Namespaces() []string
	Synced() bool
}
