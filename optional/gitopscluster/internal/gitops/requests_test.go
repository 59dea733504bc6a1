// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// used has the verbs and resources of gitopscluster's requests.
var used sync.Map

// unseen are resources that these tests do not use. The API server itself checks signers. Routes exist only
// on OpenShift, and package boot makes the reviews.
var unseen = []string{"signers", "routes", "tokenreviews", "subjectaccessreviews"}

// unused returns an error that names the permissions that no test used.
func unused() error {
	var failed error
	for _, rule := range hub.optional {
		if slices.ContainsFunc(rule.Resources, func(resource string) bool { return slices.Contains(unseen, resource) }) {
			continue
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if _, ok := used.Load(verb + " " + resource); !ok {
					failed = errors.Join(failed, fmt.Errorf("a component's role allows %s %s, which no test uses", verb, resource))
				}
			}
		}
	}
	return failed
}

// recorder records the requests to the API server.
type recorder struct {
	next http.RoundTripper
	// fails is the request that fails, as "verb resource".
	fails string
	mu    sync.Mutex
	// writes has all writes as "verb resource[/subresource] namespace/name", without Events.
	writes []string
	denied []string
	// asked counts requests by "verb resource[/subresource]".
	asked map[string]int
	// under is the number of running writes of add-ons and ManifestWorks, and most is its highest value.
	under, most int
}

// busy counts a write of an add-on or ManifestWork until done is called.
func (r *recorder) busy(verb, resource string) (done func()) {
	base, _, _ := strings.Cut(resource, "/")
	counts := !slices.Contains([]string{"get", "list", "watch"}, verb) && slices.Contains([]string{"managedclusteraddons", "manifestworks"}, base)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]int{}
	}
	r.asked[verb+" "+resource]++
	if !counts {
		return func() {}
	}
	r.under++
	r.most = max(r.most, r.under)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.under--
	}
}

func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	verb, resource, object := requested(q)
	used.Store(verb+" "+resource, true)
	if q.URL.Query().Get("sendInitialEvents") != "" { // an API server without that feature receives a list request
		used.Store("list "+resource, true)
	}
	done := r.busy(verb, resource)
	if verb+" "+resource == r.fails {
		done()
		return nil, errors.New("injected")
	}
	response, err := r.next.RoundTrip(q)
	done()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && response.StatusCode == http.StatusForbidden {
		r.denied = append(r.denied, verb+" "+resource+" "+object)
	}
	if q.Method != http.MethodGet && resource != "events" && err == nil && response.StatusCode < 300 {
		r.writes = append(r.writes, verb+" "+resource+" "+object)
	}
	return response, err
}

func (r *recorder) written() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.writes)
}

// requested parses a request as the API server's authorizer does.
func requested(q *http.Request) (verb, resource, object string) {
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = parts[min(2, len(parts)):]
	} else {
		parts = parts[min(3, len(parts)):]
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	verb = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodPut: "update", http.MethodGet: "get"}[q.Method]
	if len(parts) > 0 {
		resource = parts[0]
	}
	if len(parts) > 1 {
		object = namespace + parts[1]
	} else if verb == "get" {
		if verb = "list"; q.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verb, resource, object
}
