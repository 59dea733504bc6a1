// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tap is a transport between a process and the API server. It records writes and answers requests instead
// of the API server.
type tap struct {
	mu     sync.Mutex
	writes []string
	broken func(*http.Request) *http.Response
	lines  strings.Builder
	// patience replaces the process's patience. 0 keeps the default.
	patience time.Duration
}

func (p *tap) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		p.mu.Lock()
		broken := p.broken
		if isReport := strings.Contains(r.URL.Path, "/multiclusterapplicationsetreports"); isReport && r.Method != http.MethodGet {
			p.writes = append(p.writes, r.Method+" "+r.URL.Path) // the path of a POST has no report name
		}
		p.mu.Unlock()
		if broken != nil {
			if response := broken(r); response != nil {
				response.Request = r
				return response, nil
			}
		}
		return next.RoundTrip(r)
	})
}

// breakWith sets a function that answers requests instead of the API server. nil removes it.
func (p *tap) breakWith(broken func(*http.Request) *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// log returns the writer of the process's log.
func (p *tap) log(*testing.T) io.Writer { return (*logWriter)(p) }

func (p *tap) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.String()
}

type logWriter tap

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines.Write(b)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer returns an API server's error response.
func answer(code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"injected"}`, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

var marks int

// writesOf returns the writes of one report. It does not include the creation.
func (p *tap) writesOf(namespace, name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var of []string
	for _, w := range p.writes {
		if strings.HasSuffix(w, "/namespaces/"+namespace+"/multiclusterapplicationsetreports/"+name) {
			of = append(of, w)
		}
	}
	return of
}
