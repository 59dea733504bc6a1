// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// argo has the addresses of Argo CDs.
type argo struct {
	// hub is the address of the hub's Argo CD, or "" for no link.
	hub string
}

// links returns links to the Argo CDs that show the Application.
func (a *argo) links(v *visit, app *model.App) (links []ui.Link) {
	if to := a.onHub(app); to != "" {
		links = append(links, ui.Link{Name: "In the hub's Argo CD", Path: to})
	}
	if to := a.onManaged(v, app); to != "" {
		links = append(links, ui.Link{Name: "In the Argo CD of " + app.Cluster, Path: to})
	}
	return links
}

func (a *argo) onHub(app *model.App) string {
	if a.hub == "" {
		return ""
	}
	return a.hub + join("applications", app.Namespace, app.Name)
}

// onManaged returns a search, because the Application may be in another namespace on a managed
// cluster.
func (a *argo) onManaged(v *visit, app *model.App) string {
	address := v.fleet.Cluster(app.Cluster).ArgoCD
	if address == "" {
		return ""
	}
	return address + "/applications?search=" + url.QueryEscape(app.Name)
}

// undelivered returns the Applications that have a state and match.
func (p *pages) undelivered(v *visit, match func(*model.App) bool) (apps []*model.App) {
	for _, a := range v.fleet.Undelivered() {
		if match(a) {
			apps = append(apps, a)
		}
	}
	return apps
}

// set returns the ApplicationSet of the address. If the viewer may not see it, it is not found, so
// that a request does not disclose which ApplicationSets exist.
func (p *pages) set(v *visit) (*model.Set, error) {
	set := v.fleet.Set(types.NamespacedName{Namespace: v.r.PathValue("namespace"), Name: v.r.PathValue("name")})
	if set == nil {
		return nil, notFound("There is no ApplicationSet of that name that you may see.")
	}
	return set, nil
}

// largest is how many errors the first page shows.
const largest = 5

func setPath(set *model.Set) string { return join("sets", set.Key.Namespace, set.Key.Name) }

// pages builds the views of a viewer.
type pages struct {
	argo      argo
	leases    func() []model.Lease
	resources func(context.Context, types.NamespacedName) ([]v1alpha1.ResourceRef, error)
	log       logr.Logger
}

var menu = []ui.Link{
	{Name: "Fleet", Path: "/"}, {Name: "Applications", Path: "/apps"}, {Name: "Clusters", Path: "/clusters"},
	{Name: "Errors", Path: "/errors"}, {Name: "Not delivered", Path: "/hub"},
}

// base returns the content of every page. The page of a problem does not refresh itself.
func (p *pages) base(v *visit, name, title string) ui.Base {
	b := ui.Base{Page: name, Title: title, Now: ui.NewWhen(v.now, v.now), Nav: slices.Clone(menu)}
	for i := range b.Nav {
		b.Nav[i].Current = b.Nav[i].Path == v.r.URL.Path
	}
	if v.viewer != nil {
		b.User = v.viewer.Name
	}
	if v.fleet == nil || name == "problem" {
		return b
	}
	b.Version = v.version
	for _, l := range p.leases() {
		b.Leases = append(b.Leases, ui.Lease{Controller: l.Controller, Renewed: ui.NewWhen(l.Renewed, v.now)})
	}
	for _, l := range p.silent(v) {
		what := "what stands here may be old."
		if l.Controller == "aggregation" {
			what = "reports and lists of resources may be old."
		}
		if l.Renewed.IsZero() {
			b.Notices = append(b.Notices, l.Controller+" holds no Lease on this hub: "+what)
		} else {
			b.Notices = append(b.Notices, l.Controller+" has not renewed its Lease since "+l.Renewed.UTC().Format(time.RFC3339)+": "+what)
		}
	}
	return b
}

// silent returns the Leases of controllers that seem not to be running.
func (p *pages) silent(v *visit) []model.Lease {
	return slices.DeleteFunc(slices.Clone(p.leases()), func(l model.Lease) bool { return !l.Old(v.now) })
}
