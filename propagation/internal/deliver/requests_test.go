// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// requests are the writes to the hub, without Events.
type requests struct {
	mu    sync.Mutex
	paths []string
	// done are the writes that the API server accepted, and refused the others.
	done, refused []string
	// blind are the patches of Applications and ManifestWorks without a resource version.
	blind []string
	// unguarded are the deletions without preconditions. With a stale cache or a second writer, such a
	// deletion could delete a newer object.
	unguarded []string
	// deleted are the successful deletions.
	deleted []string
}

func (r *requests) blindPatches() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blind
}

// versioned reports whether a merge patch or a JSON patch contains the resource version of its object.
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

// in returns the requests for objects in the namespaces. Other tests leave objects on the shared hub.
func (r *requests) in(namespaces ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return within(r.paths, namespaces)
}

// doneIn returns the requests of [requests.in] that the API server accepted. It refuses a request from an
// outdated cache.
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

// An Application that is read after the removal of its refresh may be an older version.
func TestRefreshes_recognizeAnOlderVersion(t *testing.T) {
	key := types.NamespacedName{Namespace: "team", Name: "app"}
	conflict := apierrors.NewConflict(schema.GroupResource{}, "app", errors.New("changed"))
	for name, c := range map[string]struct {
		sent    bool
		taken   bool // from version 10
		outcome error
		version string
		wants   bool
		id      string
		ended   bool
	}{
		"not sent yet":                      {version: "10", wants: true},
		"sent":                              {sent: true, version: "10", wants: true, id: "r1"},
		"sent, and read again":              {sent: true, version: "12", wants: true, id: "r1"},
		"sent, and taken off by another":    {sent: true, version: "12"},
		"taken off, read from before":       {sent: true, taken: true, version: "10", wants: true, ended: true},
		"taken off, read from long before":  {sent: true, taken: true, version: "9", wants: true, ended: true},
		"taken off, read after":             {sent: true, taken: true, version: "11"},
		"taken off, and the next one":       {sent: true, taken: true, version: "12", wants: true},
		"another client wrote first":        {sent: true, taken: true, outcome: conflict, version: "11", wants: true, id: "r1"},
		"not known whether it is off":       {sent: true, taken: true, outcome: errors.New("timeout"), version: "10", wants: true},
		"found done by another process":     {taken: true, version: "10", wants: true, ended: true},
		"of another process, and conflict":  {taken: true, outcome: conflict, version: "11", wants: true},
		"no order in versions, another one": {sent: true, taken: true, version: "x", wants: true},
	} {
		t.Run(name, func(t *testing.T) {
			var s refreshes
			if c.sent {
				s.send(key, "r1")
			}
			if c.taken {
				s.end(key, "r1", "10", c.outcome)
			}
			app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", ResourceVersion: c.version}}
			if c.wants {
				app.Annotations = map[string]string{argocd.RefreshAnnotation: "normal"}
			}
			for range 2 {
				if id, ended := s.of(app); id != c.id || ended != c.ended {
					t.Fatalf("got %q, ended %t", id, ended)
				}
			}
		})
	}
}

func TestRefreshes_markDone(t *testing.T) {
	key, now := types.NamespacedName{Name: "app"}, time.Unix(100, 0)
	var s refreshes
	s.send(key, "r1")
	s.markDone(key, "r2", now)
	if done := s.get(key).done; !done.IsZero() {
		t.Errorf("another refresh is done at %s", done)
	}
	s.markDone(key, "r1", now)
	s.send(key, "r1")
	s.markDone(key, "r1", now.Add(time.Second))
	if done := s.get(key).done; !done.Equal(now) {
		t.Errorf("done at %s", done)
	}
	s.forget(key)
	if _, kept := s.sent.Load(key); kept {
		t.Error("it is remembered")
	}
}
