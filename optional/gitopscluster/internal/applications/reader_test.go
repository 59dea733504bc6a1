// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// fatHub is a hub with 200 Applications of 500 KB, of a cluster without an agent. It measures the
// memory in use while it sends them.
type fatHub struct {
	status string
	lists  atomic.Int64
	peak   atomic.Uint64
}

func (h *fatHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasSuffix(r.URL.Path, "/applications") {
		_, _ = fmt.Fprint(w, `{"kind":"AppProjectList","apiVersion":"argoproj.io/v1alpha1","metadata":{},"items":[]}`)
		return
	}
	h.lists.Add(1)
	_, _ = fmt.Fprint(w, `{"kind":"ApplicationList","apiVersion":"argoproj.io/v1alpha1","metadata":{},"items":[`)
	for i := range 200 {
		if i > 0 {
			_, _ = fmt.Fprint(w, ",")
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{"namespace":"argocd","name":"app-%d"},"spec":{"project":"p","destination":{"name":"gone"}},"status":%s}`, i, h.status)
		if i%20 == 19 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			h.peak.Store(max(h.peak.Load(), m.HeapAlloc))
		}
	}
	_, _ = fmt.Fprint(w, "]}")
}

// The memory of a report does not depend on the size and the number of the Applications.
func TestRead_holdsOneApplication(t *testing.T) {
	h := &fatHub{status: fmt.Sprintf(`{"operationState":{"message":%q}}`, strings.Repeat("x", 500<<10))}
	server := httptest.NewServer(h)
	defer server.Close()
	lists, err := NewLists(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	report, _, err := New(nil, nil, lists).Read(t.Context(), "argocd", Clusters{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Orphaned.Count != 200 || h.lists.Load() != 1 {
		t.Errorf("the report is %+v after %d lists", report, h.lists.Load())
	}
	if peak := h.peak.Load(); peak == 0 || peak > 40<<20 {
		t.Errorf("%d MiB are in use", peak>>20)
	}
}

// A hub without Argo CD's CustomResourceDefinitions has nothing to report. Another error is returned.
func TestRead_needsNoCustomResourceDefinitions(t *testing.T) {
	code := http.StatusNotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }))
	defer server.Close()
	lists, err := NewLists(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	report, _, err := New(nil, nil, lists).Read(t.Context(), "argocd", Clusters{})
	if diff := cmp.Diff(&Report{}, report); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	code = http.StatusForbidden
	if _, _, err := New(nil, nil, lists).Read(t.Context(), "argocd", Clusters{}); err == nil || !strings.Contains(err.Error(), "list AppProjects of argocd") {
		t.Errorf("the error is %v", err)
	}
}
