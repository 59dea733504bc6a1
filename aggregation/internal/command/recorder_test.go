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

// tap sits between a process and the API server: it notes writes and breaks what
// it is to.
type tap struct {
	mu     sync.Mutex
	writes []string
	broken func(*http.Request) *http.Response
	lines  strings.Builder
	// patience of the process; 0: the usual one.
	patience time.Duration
}

func (p *tap) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		p.mu.Lock()
		broken := p.broken
		if isReport := strings.Contains(r.URL.Path, "/multiclusterapplicationsetreports"); isReport && r.Method != http.MethodGet {
			p.writes = append(p.writes, r.Method+" "+r.URL.Path) // a POST names no report
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

// breakWith answers requests in the API server's place; nil ends that.
func (p *tap) breakWith(broken func(*http.Request) *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// log returns where the process logs to.
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

// answer is what an API server says when it fails.
func answer(code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"injected"}`, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

var marks int

// writesOf returns the writes of one report.
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
