// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// small is a fleet of 4 clusters with 2 Applications of 3 resources each.
var small = memory.Fleet{Clusters: 4, Sets: 2, Resources: 3}

const smallRows = 4 * (1 + 2*4)

var smallClusters = []string{"cluster0000", "cluster0001", "cluster0002", "cluster0003"}

// outcome is an answer as a client receives it.
type outcome struct {
	status int
	body   []byte
	err    error
}

// try sends the level-1 query for clusters as an account.
func try(t testing.TB, server *search.Server, account string, clusters ...string) outcome {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL(), bytes.NewReader(level1(t, clusters)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+account)
	response, err := client(t, server).Do(request)
	if err != nil {
		return outcome{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return outcome{status: response.StatusCode, body: body, err: err}
}

// shape is the size of an answer.
type shape struct {
	Errors, Count, Items, Related, Nodes int
	NullItems, NullRelated, NullResult   bool
}

func shapeOf(t testing.TB, body []byte) shape {
	t.Helper()
	var a struct {
		Errors []json.RawMessage
		Data   struct{ Search *[]result }
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("not JSON: %v: %.200s", err, body)
	}
	s := shape{Errors: len(a.Errors), NullResult: a.Data.Search == nil}
	if s.NullResult || len(*a.Data.Search) == 0 {
		return s
	}
	r := (*a.Data.Search)[0]
	s.Items, s.NullItems, s.NullRelated = len(r.Items), r.Items == nil, r.Related == nil
	if r.Count != nil {
		s.Count = *r.Count
	}
	for _, group := range r.Related {
		if group.Kind == "Cluster" {
			s.Nodes += len(group.Items)
		} else {
			s.Related += len(group.Items)
		}
	}
	return s
}

// TestFaults_changeTheAnswer checks the answer of the server under each fault.
func TestFaults_changeTheAnswer(t *testing.T) {
	server := serve(t, search.Options{Source: small})
	testkit.Until(t, "the fleet to be filled in", func() bool { return server.Table().Len() == smallRows })
	whole := shape{Count: 8, Items: 8, Related: 24, Nodes: 4}
	for name, test := range map[string]struct {
		reason  string
		faults  search.Faults
		account string
		status  int
		want    shape
	}{
		"healthy":            {"the rest differs from this", search.Faults{}, "", 200, whole},
		"wrong status":       {"a proxy may answer anything", search.Faults{Status: 502}, "", 502, shape{}},
		"no token":           {"forced, whatever the token", search.Faults{Status: 401}, "", 401, shape{}},
		"null result":        {"data is null and there are no errors", search.Faults{NullResult: true}, "", 200, shape{NullResult: true}},
		"items cut":          {"count still tells", search.Faults{CutItems: true, ItemsKept: .5}, "", 200, shape{Count: 8, Items: 4, Related: 12, Nodes: 2}},
		"items gone":         {"cancelled while executing: empty and no error", search.Faults{CutItems: true}, "", 200, shape{Count: 8, NullRelated: true}},
		"relations gone":     {"an empty list and no error", search.Faults{CutRelated: true}, "", 200, shape{Count: 8, Items: 8}},
		"relations cut":      {"nodes of clusters are missing", search.Faults{CutRelated: true, RelatedKept: .5}, "", 200, shape{Count: 8, Items: 8, Related: 12, Nodes: 2}},
		"relations cut well": {"nothing within the answer tells", search.Faults{CutRelated: true, RelatedKept: .5, NodesKept: true}, "", 200, shape{Count: 8, Items: 8, Related: 12, Nodes: 4}},
		"statement":          {"an error with status 200", search.Faults{StatementTimeout: true}, "", 200, shape{Errors: 3, NullItems: true, NullRelated: true}},
		"access":             {"the result itself is null", search.Faults{AccessUnresolved: true}, "", 200, shape{Errors: 1, NullResult: true}},
		"fine-grained":       {"the one right gives nothing", search.Faults{FineGrained: true}, "", 200, shape{NullRelated: true}},
		"fine-grained admin": {"who may do all still sees all", search.Faults{FineGrained: true}, "reader-admin", 200, whole},
		"lost cluster":       {"its rows are not there", search.Faults{Lost: []string{"cluster0001"}}, "", 200, shape{Count: 6, Items: 6, Related: 18, Nodes: 3}},
		"wrong hub":          {"the first managed cluster is taken for the hub", search.Faults{PseudoNodeFirst: true}, "", 200, shape{Count: 6, Items: 6, Related: 18, Nodes: 3}},
		"one cluster":        {"an account with a right on one cluster", search.Faults{}, "reader-one", 200, shape{Count: 2, Items: 2, Related: 6, Nodes: 1}},
		"no right":           {"nothing, and no error", search.Faults{}, "reader-none", 200, shape{NullRelated: true}},
		"another request":    {"faults can be limited", search.Faults{Status: 500, Only: func(r search.Request) bool { return r.Names("other") }}, "", 200, whole},
		"ours":               {"faults can be limited", search.Faults{Status: 500, Only: func(r search.Request) bool { return r.Names("cluster0003") }}, "", 500, shape{}},
		"break-off in words": {"not JSON at all", search.Faults{NotJSON: true}, "", 200, shape{}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := server.SetFaults(test.faults); err != nil {
				t.Fatal(err)
			}
			account := test.account
			if account == "" {
				account = "reader-allmanaged"
			}
			got := try(t, server, account, smallClusters...)
			if got.err != nil || got.status != test.status {
				t.Fatalf("%s: status %d, error %v, want %d", test.reason, got.status, got.err, test.status)
			}
			if test.faults.NotJSON {
				if json.Valid(got.body) {
					t.Errorf("%s: %s", test.reason, got.body)
				}
			} else if got.status == 200 {
				if shape := shapeOf(t, got.body); shape != test.want {
					t.Errorf("%s: %+v, want %+v", test.reason, shape, test.want)
				}
			}
		})
	}
}

// TestFaults_refuseConnections closes the port and opens it again.
func TestFaults_refuseConnections(t *testing.T) {
	server := serve(t, search.Options{Source: small})
	url := server.URL()
	if err := server.SetFaults(search.Faults{Refuse: true}); err != nil {
		t.Fatal(err)
	}
	if got := try(t, server, "reader-admin", smallClusters...); !errors.Is(got.err, syscall.ECONNREFUSED) && !errors.Is(got.err, syscall.ECONNRESET) { // the connection is reset while the port closes
		t.Errorf("error %v, want a refused connection", got.err)
	}
	if err := server.SetFaults(search.Faults{}); err != nil {
		t.Fatal(err)
	}
	if got := try(t, server, "reader-admin", smallClusters...); got.status != 200 || server.URL() != url {
		t.Errorf("status %d, error %v at %s, want 200 at %s", got.status, got.err, server.URL(), url)
	}
}

// TestFaults_breakOffTheAnswer checks that the server closes the connection in the middle of an answer.
func TestFaults_breakOffTheAnswer(t *testing.T) {
	server := serve(t, search.Options{Source: small})
	testkit.Until(t, "the fleet to be filled in", func() bool { return server.Table().Len() == smallRows })
	if err := server.SetFaults(search.Faults{BreakOff: true}); err != nil {
		t.Fatal(err)
	}
	got := try(t, server, "reader-admin", smallClusters...)
	if got.status != 200 || !errors.Is(got.err, io.ErrUnexpectedEOF) || len(got.body) == 0 {
		t.Errorf("status %d, %d bytes, error %v, want 200, some bytes and an unexpected end", got.status, len(got.body), got.err)
	}
}

// TestFaults_delayUntilTheClientCancels checks that a client can cancel a delayed request.
func TestFaults_delayUntilTheClientCancels(t *testing.T) {
	server := serve(t, search.Options{Source: small})
	if err := server.SetFaults(search.Faults{Delay: testkit.Patience}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL(), bytes.NewReader(level1(t, smallClusters)))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := client(t, server).Do(request) //nolint:bodyclose // there is no answer
		done <- err
	}()
	testkit.Until(t, "the request to be in", func() bool { return server.Requests() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want a cancelled request", err)
	}
}

// TestRotateCA_invalidatesTheOldAuthority gives the server a new authority. A client that trusts the old one then fails.
func TestRotateCA_invalidatesTheOldAuthority(t *testing.T) {
	server := serve(t, search.Options{Source: small})
	trusting := client(t, server)
	if size := ask(t, server, trusting, level1(t, smallClusters)); size == 0 {
		t.Error("no answer")
	}
	if err := server.RotateCA(); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := trusting.Do(request); err == nil {
		response.Body.Close()
		t.Error("the old authority is still good")
	}
	if size := ask(t, server, client(t, server), level1(t, smallClusters)); size == 0 {
		t.Error("no answer with the new authority")
	}
}
