// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// These types are the JSON data of the page. Fields may be added, and are never changed.
type (
	apiList[T any] struct {
		Items []T `json:"items"`
		Total int `json:"total"`
		// Next is the address of the next page.
		Next string `json:"next,omitempty"`
	}
	apiSet struct {
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
		Clusters  int       `json:"clusters"`
		Counts    apiCounts `json:"counts"`
	}
	apiCounts struct {
		Applications int            `json:"applications"`
		Health       map[string]int `json:"health"`
		Sync         map[string]int `json:"sync"`
		Stale        int            `json:"stale"`
	}
	apiRow struct {
		Cluster     string               `json:"cluster"`
		Namespace   string               `json:"namespace"`
		Application string               `json:"application"`
		Health      string               `json:"health"`
		Sync        string               `json:"sync"`
		Revision    string               `json:"revision,omitempty"`
		Phase       string               `json:"phase,omitempty"`
		StartedAt   string               `json:"startedAt,omitempty"`
		State       model.State          `json:"state,omitempty"`
		Conditions  []v1alpha1.Condition `json:"conditions,omitempty"`
		Stale       bool                 `json:"stale,omitempty"`
		Since       string               `json:"since,omitempty"`
		Work        string               `json:"work"`
		Links       map[string]string    `json:"links,omitempty"`
	}
	apiError struct {
		Hash     string   `json:"hash"`
		Type     string   `json:"type"`
		Text     string   `json:"text"`
		Count    int      `json:"count"`
		Sets     int      `json:"sets"`
		Clusters int      `json:"clusters"`
		Examples []apiRow `json:"examples"`
	}
	apiApplication struct {
		Namespace string      `json:"namespace"`
		Name      string      `json:"name"`
		Cluster   string      `json:"cluster,omitempty"`
		Set       string      `json:"set,omitempty"`
		State     model.State `json:"state"`
		Message   string      `json:"message,omitempty"`
		Health    string      `json:"health,omitempty"`
		Sync      string      `json:"sync,omitempty"`
	}
)

// api returns the content of pages as JSON.
type api struct{ pages *pages }

func answerJSON(make page) func(*visit) {
	return func(v *visit) {
		value, err := make(v)
		if err != nil {
			code := http.StatusInternalServerError
			if p := (*problem)(nil); errors.As(err, &p) {
				code = p.code
			}
			writeError(v.w, code, err)
			return
		}
		writeJSON(v.w, http.StatusOK, value)
	}
}

// matching returns the items with a text that contains the searched text, ignoring case.
func matching[T any](all []T, q model.Query, text func(T) string) []T {
	if q.Text == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool { return !strings.Contains(strings.ToLower(text(item)), strings.ToLower(q.Text)) })
}

// part returns one page of a list, with each item in the form of the API.
func part[T, U any](v *visit, all []T, q model.Query, convert func(T) U) apiList[U] {
	p := model.Slice(len(all), q)
	list := apiList[U]{Total: len(all), Items: []U{}}
	for _, item := range all[max(0, p.From-1):p.To] {
		list.Items = append(list.Items, convert(item))
	}
	if p.Number < p.Last {
		next := v.r.URL.Query()
		next.Set("page", strconv.Itoa(p.Number+1))
		list.Next = v.r.URL.EscapedPath() + "?" + next.Encode()
	}
	return list
}

func (a *api) sets(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	return part(v, matching(v.fleet.Worst(), q, func(set *model.Set) string { return set.Key.String() }), q, func(set *model.Set) apiSet {
		c := apiCounts{Applications: set.Counts.Applications, Health: map[string]int{}, Sync: map[string]int{}, Stale: set.Counts.Stale}
		for i, name := range model.Healths {
			c.Health[name] = set.Counts.Health[i]
		}
		for i, name := range model.Syncs {
			c.Sync[name] = set.Counts.Sync[i]
		}
		return apiSet{set.Key.Namespace, set.Key.Name, set.Clusters, c}
	}), nil
}

func (a *api) rows(v *visit) (any, error) {
	set, err := a.pages.set(v)
	if err != nil {
		return nil, err
	}
	return a.items(v, model.Items([]*model.Set{set}, ""))
}

func (a *api) cluster(v *visit) (any, error) {
	items := model.Items(v.fleet.Sets, v.r.PathValue("cluster"))
	if len(items) == 0 {
		return nil, notFound("there is no cluster of that name with an Application that you may see")
	}
	return a.items(v, items)
}

func (a *api) items(v *visit, items []model.Item) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	items = slices.Clone(model.Filter(items, q))
	model.Sort(items, q)
	return part(v, items, q, func(i model.Item) apiRow { return a.row(v, i) }), nil
}

func (a *api) row(v *visit, i model.Item) apiRow {
	app := i.Row
	row := apiRow{
		Cluster: app.Cluster, Namespace: app.Namespace, Application: app.Name, Health: app.Health, Sync: app.Sync,
		Revision: app.Revision, Phase: app.Phase, StartedAt: app.Started, State: app.State, Conditions: app.Conditions, Stale: app.Stale, Work: app.Work,
	}
	if since := v.fleet.Cluster(app.Cluster).Since; row.Stale && !since.IsZero() {
		row.Since = since.UTC().Format("2006-01-02T15:04:05Z")
	}
	row.Links = map[string]string{"report": "/apis/" + v1alpha1.GroupVersion.String() + join("namespaces", i.Set.Key.Namespace, "multiclusterapplicationsetreports", i.Set.Key.Name)}
	for name, to := range map[string]string{"argocd": a.pages.argo.onHub(app), "managed": a.pages.argo.onManaged(v, app)} {
		if to != "" {
			row.Links[name] = to
		}
	}
	return row
}

func (a *api) errors(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	return part(v, matching(v.fleet.Groups(), q, func(g model.Group) string { return g.Text() }), q, func(g model.Group) apiError {
		e := apiError{Hash: g.Hash(), Type: g.Type(), Text: g.Text(), Count: g.Count, Sets: g.Sets, Clusters: g.Clusters, Examples: []apiRow{}}
		for _, i := range g.Examples {
			e.Examples = append(e.Examples, a.row(v, i))
		}
		return e
	}), nil
}

func (a *api) applications(v *visit) (any, error) {
	q, err := v.query()
	if err != nil {
		return nil, err
	}
	all := matching(v.fleet.Undelivered(), q, func(app *model.App) string { return app.Namespace + "/" + app.Name + " " + app.Message })
	return part(v, all, q, func(app *model.App) apiApplication {
		return apiApplication{app.Namespace, app.Name, app.Cluster, app.Set, app.State, app.Message, app.Health, app.Sync}
	}), nil
}

// matrix sends the heat map.
func (s *Server) matrix(v *visit) {
	data, err := v.fleet.Matrix()
	if errors.Is(err, model.ErrTooManyCells) {
		err = &problem{http.StatusRequestEntityTooLarge, "No map", "The map is too large: " + err.Error() + ". The table of clusters says the same."}
	}
	if err != nil {
		s.refuse(v, err)
		return
	}
	v.w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = v.w.Write(data) // the client has disconnected and cannot get the error
}
