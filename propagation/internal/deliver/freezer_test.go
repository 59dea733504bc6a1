// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// freezer keeps back what the API server sends the watches of one resource, so that
// the cache goes on serving older objects than there are.
type freezer struct {
	resource string

	mu   sync.Mutex
	gate chan struct{} // closed while nothing is kept back
}

func newFreezer(resource string) *freezer {
	f := &freezer{resource: resource, gate: make(chan struct{})}
	close(f.gate)
	return f
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gate = make(chan struct{})
}

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.gate:
	default:
		close(f.gate)
	}
}

func (f *freezer) open() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gate
}

func (f *freezer) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/"+f.resource) {
			response.Body = &frozenBody{response.Body, f, r}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

type frozenBody struct {
	io.ReadCloser
	freezer *freezer
	request *http.Request
}

func (b *frozenBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	select {
	case <-b.freezer.open():
	case <-b.request.Context().Done():
	}
	return n, err
}

// hasPreconditions reports whether a deletion names the UID and the resource version
// that it is meant for.
func hasPreconditions(r *http.Request) bool {
	if r.GetBody == nil {
		return false
	}
	body, err := r.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	var options metav1.DeleteOptions
	return err == nil && json.Unmarshal(raw, &options) == nil && options.Preconditions != nil &&
		options.Preconditions.UID != nil && options.Preconditions.ResourceVersion != nil
}
