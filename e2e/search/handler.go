// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"open-cluster-management.io/multicluster-integrations/e2e/search/internal/graph"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// The service's own words.
const (
	cookieName       = "acm-access-token-cookie"
	textTimedOut     = "Request timed out"
	textDatabaseDown = "Unable to establish connection with database."
	textNoToken      = `{"message":"Request didn't have a valid authentication token."}`
	textBadToken     = `{"message":"Invalid token"}`
	textAuthFailed   = `{"message":"Unexpected error while authenticating the request token."}`
)

// handler serves every path of the service.
func (s *Server) handler() http.Handler {
	graphql := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: &graph.Resolver{Table: s.table}}))
	graphql.AddTransport(transport.GET{})
	graphql.AddTransport(transport.POST{})
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "OK") }
	mux.HandleFunc("/readiness", ok)
	mux.HandleFunc("/liveness", ok)
	mux.Handle(Path, s.disturb(s.authenticate(graphql)))
	return mux
}

type faultsKey struct{}

// faultsOf returns the faults of the request that ctx belongs to.
func faultsOf(ctx context.Context) Faults {
	faults, _ := ctx.Value(faultsKey{}).(Faults)
	return faults
}

// disturb does what the faults say in front of the service, and passes what is
// left to it.
func (s *Server) disturb(service http.Handler) http.Handler {
	timed := http.TimeoutHandler(service, 2*time.Minute, textTimedOut)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := s.read(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		faults := s.faults.Load().of(request)
		ctx := context.WithValue(r.Context(), faultsKey{}, faults)
		r = r.WithContext(ctx)
		switch {
		case !clock.Sleep(ctx, faults.Delay):
			// The client has gone.
		case faults.TimedOut:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, textTimedOut)
		case faults.DatabaseDown:
			http.Error(w, textDatabaseDown, http.StatusServiceUnavailable)
		case faults.Status != 0:
			http.Error(w, statusText(faults.Status), faults.Status)
		case faults.NotJSON:
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html><body>Application is not available</body></html>")
		case faults.NullResult:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":null}`)
		case faults.BreakOff:
			breakOff(w, r, timed)
		default:
			timed.ServeHTTP(w, r)
		}
	})
}

// read counts the request and learns what faults choose by; the body can be read
// again after.
func (s *Server) read(r *http.Request) (Request, error) {
	request := Request{Number: int(s.number.Add(1))}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return request, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var content struct {
		Query     string
		Variables struct{ Input json.RawMessage }
	}
	// What is not understood here is the service's to refuse.
	_ = json.Unmarshal(body, &content)
	request.Query = content.Query
	var inputs []graph.SearchInput
	_ = json.Unmarshal(content.Variables.Input, &inputs)
	for _, input := range inputs {
		for _, filter := range input.Filters {
			if filter == nil || filter.Property != "cluster" {
				continue
			}
			for _, value := range filter.Values {
				if value != nil {
					request.Clusters = append(request.Clusters, *value)
				}
			}
		}
	}
	return request, nil
}

func statusText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return textNoToken
	case http.StatusForbidden:
		return textBadToken
	case http.StatusInternalServerError:
		return textAuthFailed
	default:
		return http.StatusText(status)
	}
}

// breakOff sends half of the answer and hangs up.
func breakOff(w http.ResponseWriter, r *http.Request, service http.Handler) {
	whole := httptest.NewRecorder()
	service.ServeHTTP(whole, r)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// A client that is gone by now has nothing to hear.
	defer func() { _ = conn.Close() }()
	body := whole.Body.Bytes()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		whole.Code, http.StatusText(whole.Code), whole.Header().Get("Content-Type"), len(body), body[:len(body)/2])
}
