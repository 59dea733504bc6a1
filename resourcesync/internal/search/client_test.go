// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const emptyAnswer = `{"data":{"searchResult":[{"count":0,"items":[],"related":null}]}}`

func answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// The filters of a request decide whether search returns one or three levels of relations.
func TestClient_sendsFilters(t *testing.T) {
	var got struct {
		Query     string
		Variables struct {
			Input    []input
			Query    input
			Property string
			Limit    int
		}
	}
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got.Variables.Input, got.Variables.Limit = nil, 0
		if r.Method != http.MethodPost || r.URL.Path != "/searchapi/graphql" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer a-token" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		if strings.Contains(got.Query, "searchComplete") {
			_, _ = io.WriteString(w, `{"data":{"searchComplete":["c1",null,"c2"]}}`)
			return
		}
		_, _ = io.WriteString(w, emptyAnswer)
	})
	ctx := context.Background()
	values := func(in input, property string) []string {
		for _, f := range in.Filters {
			if f.Property == property {
				return f.Values
			}
		}
		return nil
	}

	if _, err := c.Applications(ctx, []string{"c1", "Application"}, Digest{}); err != nil {
		t.Fatal(err)
	}
	in := got.Variables.Input[0]
	if in.Limit != -1 || !strings.Contains(got.Query, "count") || !strings.Contains(got.Query, "related") {
		t.Errorf("limit %d, query %s", in.Limit, got.Query)
	}
	if !slices.Equal(values(in, "cluster"), []string{"c1", "Applicatio*"}) || !slices.Equal(values(in, "kind_plural"), []string{"applications"}) ||
		!slices.Equal(values(in, "label"), []string{"apps.open-cluster-management.io/application-set=true"}) {
		t.Errorf("filters %v", in.Filters)
	}
	for _, f := range in.Filters {
		for _, v := range f.Values {
			if strings.EqualFold(v, "application") {
				t.Errorf("%s %q makes the server walk three levels", f.Property, v)
			}
		}
	}

	clusters, err := c.ClustersWithApplications(ctx)
	if err != nil || !slices.Equal(clusters, []string{"c1", "c2"}) || got.Variables.Limit != -1 || got.Variables.Property != "cluster" {
		t.Errorf("%v %v limit %d", clusters, err, got.Variables.Limit)
	}

	if _, err := c.Clusters(ctx); err != nil || !slices.Equal(values(got.Variables.Input[0], "kind"), []string{"Cluster"}) ||
		!slices.Equal(values(got.Variables.Input[0], "apigroup"), []string{"internal.open-cluster-management.io"}) {
		t.Errorf("%v %v", err, got.Variables.Input)
	}
}

func TestClient_neverSendsAnEmptyFilter(t *testing.T) {
	c, _ := newClient(t, func(http.ResponseWriter, *http.Request) { t.Error("an empty filter means everything") })
	if r, err := c.Applications(t.Context(), nil, Digest{}); err != nil || len(r.Items) != 0 {
		t.Errorf("%v, %v", r, err)
	}
}

func TestClient_readsTheTokenForEveryRequest(t *testing.T) {
	var seen atomic.Value
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, emptyAnswer)
	})
	for _, token := range []string{"first", "second"} {
		writeFile(t, c.options.TokenFile, []byte(token))
		if err := applicationsOf(c); err != nil || seen.Load() != "Bearer "+token {
			t.Errorf("%v, sent %v", err, seen.Load())
		}
	}
	for _, bad := range []string{"", "\n", "two tokens", "a\nb"} {
		writeFile(t, c.options.TokenFile, []byte(bad))
		if err := applicationsOf(c); KindOf(err) != KindToken || strings.Contains(err.Error(), "two tokens") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	c.options.TokenFile += "-absent"
	if err := applicationsOf(c); KindOf(err) != KindToken {
		t.Errorf("no file: %v", err)
	}
}

func TestClient_hidesTheTokenInErrors(t *testing.T) {
	s := load(t, "03-bad-token")
	c, server := newClient(t, s.serve)
	errs := []error{applicationsOf(c)}
	server.Close()
	errs = append(errs, applicationsOf(c))
	for _, err := range errs {
		if err == nil || strings.Contains(err.Error(), "a-token") {
			t.Errorf("%v", err)
		}
	}
}
