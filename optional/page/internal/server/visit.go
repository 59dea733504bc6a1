// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/ui"
)

// visit is one request of an authenticated viewer.
type visit struct {
	w      http.ResponseWriter
	r      *http.Request
	viewer *access.Viewer
	// fleet is the part of the fleet that the viewer may see. It is nil until the rights are known.
	fleet *model.Overview
	now   time.Time
	// version is the version of the answer.
	version string
}

// page builds the view of a page, or returns why it cannot.
type page func(*visit) (view any, err error)

// problem is why a page cannot be shown.
type problem struct {
	code          int
	heading, text string
}

func (p *problem) Error() string { return p.text }

var (
	errTooMany = &problem{http.StatusTooManyRequests, "Too many requests", "Too many requests; try again in a second."}
	errBusy    = &problem{http.StatusServiceUnavailable, "Too many requests", "The page has too many requests to answer; try again in a moment."}
)

func notFound(text string) error {
	return &problem{http.StatusNotFound, "Not found", text}
}

func wrongQuery(err error) error {
	return &problem{http.StatusBadRequest, "This address cannot be followed", err.Error()}
}

func isAPI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || r.Header.Get(fragmentHeader) != ""
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // the client has disconnected and cannot get the error
}

// query parses the query of the address.
func (v *visit) query() (model.Query, error) {
	q, err := model.ParseQuery(v.r.URL.Query())
	if err != nil {
		return q, wrongQuery(err)
	}
	return q, nil
}

const (
	// fragmentHeader requests parts of a page: summary, facets, rows, separated by commas.
	fragmentHeader = "X-Fragment"
	// rowsHeader lists the IDs of the shown rows. These are sent again in the same order, even if
	// other rows belong there by now.
	rowsHeader = "X-Rows"
)

// since parses a time that Argo CD wrote.
func (v *visit) since(stamp string) *ui.When {
	t, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return nil // empty or invalid: nothing to show
	}
	return ui.NewWhen(t, v.now)
}
