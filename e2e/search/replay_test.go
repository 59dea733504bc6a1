// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// source is a function that fills a table once.
type source func(into *table.Table)

func (s source) Run(_ context.Context, into *table.Table) error {
	s(into)
	return nil
}

// readers are the accounts of the recorded samples.
var readers = access.Tokens{
	"reader-admin":      {Everything: true},
	"reader-allmanaged": {AllManaged: true},
	"reader-mcv":        {Clusters: map[string]bool{"cluster1": true, "cluster2": true}},
	"reader-onecluster": {Clusters: map[string]bool{"cluster1": true}},
	"reader-one":        {Clusters: map[string]bool{"cluster0000": true}},
	"reader-none":       {},
}

// brokenReviewer fails to reach the Kubernetes API.
type brokenReviewer struct{ access.Tokens }

func (brokenReviewer) Review(context.Context, string, []string) (access.Grant, error) {
	return access.Grant{}, errors.New("the API server is away")
}

// serve starts a server and stops it with the test.
func serve(t testing.TB, options search.Options) *search.Server {
	t.Helper()
	if options.Reviewer == nil && options.Hub == nil {
		options.Reviewer = readers
	}
	if options.Source == nil && options.Clusters == nil {
		options.Source = source(func(*table.Table) {})
	}
	options.Dir = t.TempDir()
	server, err := search.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// client returns a client that trusts the server's current CA.
func client(t testing.TB, server *search.Server) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(server.CA()) {
		t.Fatal("the server's CA is not a certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// replay sends a recorded request and returns the answer.
func replay(t testing.TB, server *search.Server, s sample) reply {
	t.Helper()
	body := []byte(s.Request.Body)
	var text string
	if json.Unmarshal(body, &text) == nil {
		body = []byte(text)
	}
	base := strings.TrimSuffix(server.URL(), search.Path)
	method, path := cmp.Or(s.Request.Method, http.MethodPost), cmp.Or(s.Request.Path, search.Path)
	request, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if s.Request.Auth != nil {
		token := strings.NewReplacer("<raw:", "", "<", "", ">", "").Replace(*s.Request.Auth)
		request.Header.Set("Authorization", token)
	}
	for key, value := range s.Request.Headers {
		if request.Header.Set(key, strings.ReplaceAll(value, "<token>", "reader-admin")); value == "" {
			request.Header.Del(key)
		}
	}
	response, err := client(t, server).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answered, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, answered}
}

// compareSample fails the test if the answer differs from the recorded one. It ignores the order of kinds and
// related items, which the service does not guarantee.
func compareSample(t *testing.T, s sample, got reply) {
	t.Helper()
	if got.status != s.Response.Status {
		t.Errorf("status %d, recorded %d; body %.300s", got.status, s.Response.Status, got.body)
	}
	for _, header := range []string{"Content-Type", "X-Content-Type-Options"} {
		if value, want := got.header.Get(header), s.Response.Headers[header]; value != want {
			t.Errorf("%s %q, recorded %q", header, value, want)
		}
	}
	if s.Response.Text != nil {
		if diff := gocmp.Diff(*s.Response.Text, string(got.body)); diff != "" {
			t.Error("body differs (-recorded +answered):\n" + diff)
		}
		return
	}
	if diff := gocmp.Diff(canonical(t, s.Response.Body), canonical(t, got.body)); diff != "" {
		t.Error("body differs (-recorded +answered):\n" + diff)
	}
}

// canonical decodes an answer and removes the parts that differ between two answers of the real service.
func canonical(t *testing.T, body []byte) any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("not JSON: %v: %.300s", err, body)
	}
	errorList, _ := value["errors"].([]any)
	for _, item := range errorList {
		fields := item.(map[string]any)
		message := fields["message"].(string)
		for _, varies := range []string{"Received: ", "failed to connect"} {
			if at := strings.Index(message, varies); at >= 0 {
				message = message[:at+len(varies)]
			}
		}
		fields["message"] = message
	}
	sortByJSON(errorList)
	data, _ := value["data"].(map[string]any)
	for _, results := range data {
		list, _ := results.([]any)
		for _, item := range list {
			if fields, ok := item.(map[string]any); ok {
				if items, ok := fields["items"].([]any); ok {
					sortByJSON(items)
				}
				related, _ := fields["related"].([]any)
				for _, group := range related {
					items, _ := group.(map[string]any)["items"].([]any)
					for _, row := range items {
						sortByJSON(row.(map[string]any)["_relatedUids"].([]any))
					}
					sortByJSON(items)
				}
				sortByJSON(related)
			}
		}
	}
	return value
}

// sortByJSON sorts values by their text.
func sortByJSON(values []any) {
	slices.SortFunc(values, func(a, b any) int {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return bytes.Compare(x, y)
	})
}

// TestSamples_areAnsweredAsRecorded sends every recorded request and compares the answer with the recorded one. The table has the
// rows of the recording.
func TestSamples_areAnsweredAsRecorded(t *testing.T) {
	healthy := search.Faults{}
	groups := []struct {
		reason string
		faults search.Faults
		names  []string
	}{
		{"a healthy service", healthy, []string{
			"01-*", "02-*", "03*", "04*", "05*", "06*", "08-*", "09-*", "09[adef]-*", "12-*", "29*",
		}},
		{"the hub is told by the wrong row", search.Faults{PseudoNodeFirst: true}, []string{"08c-*"}},
		{"a statement fails before its first row", search.Faults{StatementTimeout: true}, []string{"14-*", "14c-*", "14d-*"}},
		{"relations fail in silence", search.Faults{CutRelated: true}, []string{"14b-*", "15b-*"}},
		{"the service's own timeout", search.Faults{TimedOut: true}, []string{"18-*"}},
		{"the database went a moment ago", search.Faults{DatabaseGone: true}, []string{"19-*"}},
		{"the database is away", search.Faults{DatabaseDown: true}, []string{"19b-*", "19c-*", "19e-*"}},
		{"access cannot be resolved", search.Faults{AccessUnresolved: true}, []string{"22-*"}},
	}
	server := serve(t, search.Options{Source: recordedRows(t)})
	waitForRows(t, server)
	for _, group := range groups {
		if err := server.SetFaults(group.faults); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range group.names {
			paths, err := filepath.Glob(filepath.Join("testdata", pattern))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no sample %s: %v", pattern, err)
			}
			for _, path := range paths {
				name := filepath.Base(path)
				t.Run(name+": "+group.reason, func(t *testing.T) {
					s := read(t, name)
					compareSample(t, s, replay(t, server, s))
				})
			}
		}
	}
}

// waitForRows waits until the table is filled.
func waitForRows(t testing.TB, server *search.Server) {
	t.Helper()
	testkit.Until(t, "the table to be filled", func() bool { return server.Table().Len() > 0 })
}

// TestAccess_failsWithoutTheKubernetesAPI checks the answer while the Kubernetes API is not reachable.
func TestAccess_failsWithoutTheKubernetesAPI(t *testing.T) {
	server := serve(t, search.Options{Source: small, Reviewer: brokenReviewer{}})
	s := read(t, "21b-kube-down-uncached-token.json")
	compareSample(t, s, replay(t, server, s))
}
