// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const emptyAnswer = `{"data":{"searchResult":[{"count":0,"items":[],"related":null}]}}`

func answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// What goes over the wire decides between one and three levels of relations.
func TestRequests(t *testing.T) {
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

	if _, err := c.Objects(ctx, "c1", []string{"ConfigMap"}, []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.Query, "related") || !slices.Equal(values(got.Variables.Input[0], "name"), []string{"x"}) {
		t.Errorf("%s %v", got.Query, got.Variables.Input)
	}
	if _, err := c.Clusters(ctx); err != nil || !slices.Equal(values(got.Variables.Input[0], "kind"), []string{"Cluster"}) {
		t.Errorf("%v %v", err, got.Variables.Input)
	}
}

func TestEmptyFiltersAreNeverSent(t *testing.T) {
	c, _ := newClient(t, func(http.ResponseWriter, *http.Request) { t.Error("an empty filter means everything") })
	for _, ask := range []func() (*Result, error){
		func() (*Result, error) { return c.Applications(t.Context(), nil, Digest{}) },
		func() (*Result, error) { return c.Objects(t.Context(), "", []string{"k"}, []string{"n"}) },
		func() (*Result, error) { return c.Objects(t.Context(), "c", nil, []string{"n"}) },
		func() (*Result, error) { return c.Objects(t.Context(), "c", []string{"k"}, nil) },
	} {
		if r, err := ask(); err != nil || len(r.Items) != 0 {
			t.Errorf("%v, %v", r, err)
		}
	}
}

func TestTransportFailures(t *testing.T) {
	tests := map[string]struct {
		reason  string
		handler http.HandlerFunc
		kind    Kind
	}{
		"cut": {"a connection that breaks in the answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10000")
			_, _ = io.WriteString(w, emptyAnswer[:30])
		}, KindIncomplete},
		"cut with a clean end": {"a proxy that gives up", answers(emptyAnswer[:30]), KindIncomplete},
		"empty":                {"nothing at all", answers(""), KindIncomplete},
		"not JSON":             {"a login page", answers("<html>"), KindMalformed},
		"two answers":          {"what follows the answer belongs to no request", answers(emptyAnswer + emptyAnswer), KindMalformed},
		"a list":               {"JSON, but no answer", answers("[]"), KindMalformed},
		"null":                 {"JSON, but no answer", answers("null"), KindMalformed},
		"no data":              {"neither data nor errors", answers("{}"), KindMalformed},
		"data null":            {"neither data nor errors", answers(`{"data":null}`), KindMalformed},
		"results null":         {"no error with it", answers(`{"data":{"searchResult":null}}`), KindMalformed},
		"result null":          {"no items, no error", answers(`{"data":{"searchResult":[null]}}`), KindIncomplete},
		"items no list":        {"a type that the schema does not have", answers(`{"data":{"searchResult":[{"count":0,"items":{}}]}}`), KindMalformed},
		"count too high":       {"rows were cut", answers(`{"data":{"searchResult":[{"count":3,"items":[{"_uid":"a"}]}]}}`), KindIncomplete},
		"count too low":        {"two statements that saw different times", answers(`{"data":{"searchResult":[{"count":0,"items":[{"_uid":"a"}]}]}}`), KindIncomplete},
		"too large":            {"more than is allowed", answers(`{"data":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`), KindTooLarge},
		"redirect": {"the token is not carried elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, KindStatus},
		"bad gateway": {"a proxy's own page", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, KindStatus},
		"hang up":     {"a server that dies", hangUp, KindUnreachable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := newClient(t, tc.handler)
			if err := applicationsOf(c); KindOf(err) != tc.kind {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.kind)
			}
		})
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func TestNoServer(t *testing.T) {
	c, server := newClient(t, answers(emptyAnswer))
	server.Close()
	if err := applicationsOf(c); KindOf(err) != KindUnreachable {
		t.Errorf("refused: %v", err)
	}
	c.options.URL = "https://search.invalid:4010/"
	c.http.Transport = &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}
	}}
	if err := applicationsOf(c); KindOf(err) != KindAbsent {
		t.Errorf("no such name: %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	for name, begin := range map[string]string{"no answer": "", "half an answer": emptyAnswer[:30]} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			c, _ := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, begin)
				if begin != "" {
					_ = http.NewResponseController(w).Flush()
				}
				<-release
			})
			t.Cleanup(func() { close(release) }) // before the server waits for its handlers
			c.options.Timeout = 200 * time.Millisecond
			if err := applicationsOf(c); KindOf(err) != KindTimeout {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTokenIsReadForEveryRequest(t *testing.T) {
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

func TestErrorsNeverShowTheToken(t *testing.T) {
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

// authority is a certificate authority that can sign for a server.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

func sign(t *testing.T, template *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, _ = rand.Int(rand.Reader, big.NewInt(1<<62))
	template.Subject = pkix.Name{CommonName: fmt.Sprint(template.SerialNumber)}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if by == nil {
		by = &authority{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) server(t *testing.T, ips ...net.IP) tls.Certificate {
	t.Helper()
	cert, key := sign(t, &x509.Certificate{IPAddresses: ips, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, a)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func TestRootsAreReadAgain(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	loopback := net.IPv4(127, 0, 0, 1)
	var current atomic.Pointer[tls.Certificate]
	use := func(c tls.Certificate) { current.Store(&c) }
	server := httptest.NewUnstartedServer(answers(emptyAnswer))
	server.Listener = tls.NewListener(server.Listener, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.Load(), nil },
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what is tested
	use(first.server(t, loopback))
	server.Start()
	defer server.Close()
	c, _ := newClient(t, answers(""))
	c.options.URL = "https" + strings.TrimPrefix(server.URL, "http")
	trust := func(a *authority) { writeFile(t, c.options.CAFile, certificate(a.cert)) }

	steps := []struct {
		reason string
		do     func()
		kind   Kind
	}{
		{"trusted", func() { trust(first) }, ""},
		{"the file changes: kept connections do not count", func() { trust(second) }, KindTLS},
		{"the server follows", func() { use(second.server(t, loopback)) }, ""},
		{"a file without a certificate leaves the roots in use", func() { writeFile(t, c.options.CAFile, []byte("garbage")) }, ""},
		{"both, as during a rotation", func() {
			writeFile(t, c.options.CAFile, bytes.Join([][]byte{certificate(first.cert), certificate(second.cert)}, nil))
		}, ""},
		{"a certificate for another name", func() {
			use(first.server(t, net.IPv4(127, 0, 0, 2)))
			c.Close()
		}, KindTLS},
	}
	for _, step := range steps {
		step.do()
		if err := applicationsOf(c); KindOf(err) != step.kind {
			t.Fatalf("%s: %v, want %q", step.reason, err, step.kind)
		}
	}
}

func TestRootsThatCannotBeLoaded(t *testing.T) {
	c, _ := newClient(t, answers(emptyAnswer))
	ca := c.options.CAFile
	for reason, file := range map[string]string{"absent": ca + "-absent", "no certificate": c.options.TokenFile} {
		o := c.options
		o.CAFile = file
		other := New(o)
		if err := applicationsOf(other); KindOf(err) != KindTLS {
			t.Errorf("%s: %v", reason, err)
		}
		other.Close()
	}
	o := c.options
	o.CAFile, o.FallbackCAFile = "", ca
	if err := applicationsOf(New(o)); err != nil {
		t.Errorf("the platform's file: %v", err)
	}
	o.FallbackCAFile = ca + "-absent"
	if err := applicationsOf(New(o)); KindOf(err) != KindTLS || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("the system does not know a test's authority: %v", err)
	}
}
