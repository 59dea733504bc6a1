// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// These are messages of the service.
const (
	textTimedOut     = "Request timed out"
	textDatabaseDown = "Unable to establish connection with database."
	textNoToken      = `{"message":"Request didn't have a valid authentication token."}`
	textBadToken     = `{"message":"Invalid token"}`
	textAuthFailed   = `{"message":"Unexpected error while authenticating the request token."}`
)

var statusText = map[int]string{http.StatusUnauthorized: textNoToken, http.StatusForbidden: textBadToken, http.StatusInternalServerError: textAuthFailed}

// handle answers a request. It applies the faults in the order of the service.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	request := Request{Number: int(s.number.Add(1))}
	var q question
	err := json.NewDecoder(r.Body).Decode(&q)
	request.Clusters = clustersOf(q)
	faults := s.faults.Load().of(request)
	switch {
	case !clock.Sleep(r.Context(), faults.Delay):
		// The client has disconnected.
	case faults.TimedOut:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, textTimedOut)
	case faults.DatabaseDown:
		http.Error(w, textDatabaseDown, http.StatusServiceUnavailable)
	case faults.Status != 0:
		text, own := statusText[faults.Status]
		if !own {
			text = http.StatusText(faults.Status)
		}
		http.Error(w, text, faults.Status)
	case faults.NotJSON:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Application is not available</body></html>")
	case faults.NullResult:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":null}`)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case faults.BreakOff:
		whole := httptest.NewRecorder()
		s.answer(whole, r, q, faults)
		breakOff(w, whole)
	default:
		s.answer(w, r, q, faults)
	}
}

// clustersOf returns the values of all filters on the cluster.
func clustersOf(q question) (clusters []string) {
	var inputs []table.Query
	// The schema rejects inputs that are invalid here.
	_ = json.Unmarshal(table.Encode(q.Variables["input"]), &inputs)
	for _, input := range inputs {
		for _, filter := range input.Filters {
			if filter.Property == "cluster" {
				for _, value := range filter.Values {
					if value != nil {
						clusters = append(clusters, *value)
					}
				}
			}
		}
	}
	return clusters
}

// answer authenticates the caller, reviews its permissions, and answers accordingly.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, q question, faults Faults) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		http.Error(w, textNoToken, http.StatusUnauthorized)
		return
	}
	grant, err := s.options.Reviewer.Review(r.Context(), token, s.table.Clusters())
	e := &execution{faults: faults}
	switch {
	case errors.Is(err, access.ErrInvalidToken):
		http.Error(w, textBadToken, http.StatusForbidden)
		return
	case errors.Is(err, access.ErrUnresolved):
		s.options.Log.Error(err, "A caller's access cannot be resolved")
		e.denied = errAccess
	case err != nil:
		http.Error(w, textAuthFailed, http.StatusInternalServerError)
		return
	case faults.AccessUnresolved:
		e.denied = errAccess
	case faults.FineGrained && !grant.Everything:
		grant = access.Grant{}
	}
	scope := table.Scope{
		Everything: grant.Everything, Managed: grant.AllManaged, Clusters: grant.Clusters,
		PseudoNodeFirst: faults.PseudoNodeFirst, Hidden: map[string]bool{},
	}
	for _, cluster := range faults.Lost {
		scope.Hidden[cluster] = true
	}
	e.view = s.table.View(scope)
	e.answer(w, q)
}

// breakOff sends half of an answer and closes the connection.
func breakOff(w http.ResponseWriter, whole *httptest.ResponseRecorder) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }() // the client may have disconnected
	body := whole.Body.Bytes()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		whole.Code, http.StatusText(whole.Code), whole.Header().Get("Content-Type"), len(body), body[:len(body)/2])
}
