// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// sample is a recorded answer of the real service.
type sample struct {
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
		Text    *string           `json:"body_text"`
	} `json:"response"`
}

func load(t testing.TB, name string) sample {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s sample
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sample) body() []byte {
	if s.Response.Text != nil {
		return []byte(*s.Response.Text)
	}
	return s.Response.Body
}

func (s *sample) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", s.Response.Headers["Content-Type"])
	w.WriteHeader(s.Response.Status)
	_, _ = w.Write(s.body())
}

// newClient starts a TLS server and returns a client that trusts it.
func newClient(t testing.TB, handler http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca, token := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "token")
	writeFile(t, ca, certificate(server.Certificate()))
	writeFile(t, token, []byte("a-token\n"))
	c := New(Options{URL: server.URL + "/searchapi/graphql", CAFile: ca, TokenFile: token, MaxBytes: 1 << 20})
	t.Cleanup(c.Close)
	return c, server
}

func certificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func applicationsOf(c *Client) error {
	_, err := c.Applications(context.Background(), []string{"cluster1", "cluster2"}, Digest{})
	return err
}

func TestKindOf_classifiesFailuresOfTheRealService(t *testing.T) {
	tests := []struct {
		sample string
		kind   Kind
		reason string
	}{
		{"02-no-token", KindUnauthenticated, "401"},
		{"03-bad-token", KindUnauthenticated, "403"},
		{"03e-scheme-lowercase", KindUnauthenticated, "403, whatever was wrong with the header"},
		{"04-malformed-graphql-syntax", KindQuery, "422 parse"},
		{"04b-unknown-field", KindQuery, "422 validation: another version of the schema"},
		{"04c-not-json", KindQuery, "400"},
		{"04d-empty-body", KindQuery, "400"},
		{"04e-wrong-variable-type", KindQuery, "422 variables"},
		{"04f-wrong-content-type", KindQuery, "400 transport"},
		{"04l-null-value-in-values", KindGraphQL, "an error that has no other sign than its text"},
		{"06-no-filters", KindGraphQL, "200 with an error of one result"},
		{"06b-null-input", KindMalformed, "no result for our one input"},
		{"06c-empty-input-list", KindMalformed, "no result for our one input"},
		{"06f-bad-label-format", KindGraphQL, "200 with an error"},
		{"06l-wrong-path", KindAbsent, "404: something else is served there"},
		{"28-federated-disabled", KindAbsent, "404"},
		{"14-statement-timeout-resources", KindStatement, "statement cancelled before its first row"},
		{"14d-statement-timeout-count-and-items", KindStatement, "count tells what items hides"},
		{"14e-statement-timeout-unknown-prop", KindStatement, "cancelled while properties are looked up"},
		{"15-backend-terminated-during-items", KindStatement, "the database backend was terminated"},
		{"18-request-timeout", KindTimeout, "503 text"},
		{"19-db-down-immediately", KindDatabase, "200 with an error"},
		{"19b-db-down-later", KindDatabase, "503 text"},
		{"19e-service-started-with-db-down", KindDatabase, "503 text"},
		{"21b-kube-down-uncached-token", KindAuthenticator, "500: not the token's fault"},
		{"22-user-data-error", KindAccess, "searchResult null"},
		{"23-fine-grained-reader-allmanaged", KindAccess, "fine-grained RBAC without its API"},
		{"01-success-two-clusters", KindIncomplete, "an answer without count proves nothing"},
	}
	for _, tc := range tests {
		t.Run(tc.sample, func(t *testing.T) {
			s := load(t, tc.sample)
			c, _ := newClient(t, s.serve)
			if err := applicationsOf(c); KindOf(err) != tc.kind {
				t.Errorf("%s: got %v, want kind %q", tc.reason, err, tc.kind)
			}
		})
	}
}

// anyRoom is enough for the rows of all tests.
const anyRoom = 1 << 30

func newRows() *decoder { return &decoder{strings: map[string]string{}, room: anyRoom} }
