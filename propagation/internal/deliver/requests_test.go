// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
)

// requests are those that change something on the hub; Events are no change.
type requests struct {
	mu    sync.Mutex
	paths []string
	// done are those of them that the API server has done, refused those that it has not.
	done, refused []string
	// blind are the patches of Applications and ManifestWorks that do not say which
	// version they are for.
	blind []string
	// unguarded are the deletions without the preconditions that keep a stale cache,
	// or a second writer, from costing an object.
	unguarded []string
	// deleted are the deletions that came about.
	deleted []string
}

func (r *requests) blindPatches() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blind
}

// versioned reports whether a patch, be it a merge patch or a JSON patch, says which
// version of the object it is for.
func versioned(body []byte) bool {
	var merge struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	var steps []struct {
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if json.Unmarshal(body, &merge) == nil {
		return merge.Metadata.ResourceVersion != ""
	}
	return json.Unmarshal(body, &steps) == nil && len(steps) > 0 && steps[0].Path == "/metadata/resourceVersion" && steps[0].Value != ""
}

// in returns the requests for objects in the namespaces: what other tests left on
// the shared hub is none of a test's business.
func (r *requests) in(namespaces ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return within(r.paths, namespaces)
}

// doneIn returns those of [requests.in] that the API server has done: it refuses one that
// was made from an outdated cache.
func (r *requests) doneIn(namespaces ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return within(r.done, namespaces)
}

func (r *requests) refusedIn(namespaces ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(within(r.refused, namespaces))
}

func within(paths, namespaces []string) []string {
	var found []string
	for _, path := range paths {
		for _, namespace := range namespaces {
			if strings.Contains(path, "/namespaces/"+namespace+"/") {
				found = append(found, path)
			}
		}
	}
	return found
}

type recorder struct {
	next     http.RoundTripper
	requests *requests
}

func (c recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && (strings.Contains(r.URL.Path, "/applications/") || strings.Contains(r.URL.Path, "/manifestworks/")) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !versioned(body) {
			c.requests.mu.Lock()
			c.requests.blind = append(c.requests.blind, r.URL.Path+" "+string(body))
			c.requests.mu.Unlock()
		}
	}
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
		guarded := r.Method != http.MethodDelete || hasPreconditions(r)
		c.requests.mu.Lock()
		if !guarded {
			c.requests.unguarded = append(c.requests.unguarded, r.Method+" "+r.URL.Path)
		}
		c.requests.paths = append(c.requests.paths, r.Method+" "+r.URL.Path)
		c.requests.mu.Unlock()
	}
	response, err := c.next.RoundTrip(r)
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
		c.requests.ended(r, err == nil && response.StatusCode < http.StatusMultipleChoices)
	}
	return response, err
}

func (r *requests) ended(request *http.Request, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := &r.refused
	if done {
		list = &r.done
	}
	*list = append(*list, request.Method+" "+request.URL.Path)
	if done && request.Method == http.MethodDelete {
		r.deleted = append(r.deleted, request.URL.Path)
	}
}
