// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// MemoryHub is an API server for benchmarks of memory, with more objects than a real API server can
// take in a minute. It sends generated objects to each client that lists or watches their kind,
// keeps none of them, and accepts every create.
type MemoryHub struct {
	// ListsOnly makes it an API server without the feature WatchList: a first list comes in pages
	// and not as a watch.
	ListsOnly bool

	server *httptest.Server
	kinds  []*memoryKind

	mu     sync.Mutex
	writes map[string]int
}

type memoryKind struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	objects    int
	object     func(int) []byte
}

// NewMemoryHub starts a hub that ends with the benchmark.
func NewMemoryHub(t testing.TB) *MemoryHub {
	t.Helper()
	h := &MemoryHub{writes: map[string]int{}}
	h.server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
	return h
}

// Config returns the client configuration for the hub.
func (h *MemoryHub) Config() *rest.Config { return &rest.Config{Host: h.server.URL, QPS: -1} }

// Serve adds a kind with n objects to the hub. object returns them as JSON. Call it before the hub
// is in use.
func (h *MemoryHub) Serve(resource schema.GroupVersionResource, kind string, namespaced bool, n int, object func(i int) []byte) {
	h.kinds = append(h.kinds, &memoryKind{resource, kind, namespaced, n, object})
}

// Writes returns the number of writes by verb and resource, without Events.
func (h *MemoryHub) Writes() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	writes := map[string]int{}
	for what, n := range h.writes {
		writes[what] = n
	}
	return writes
}

// ServeHTTP serves discovery, watches, lists of objects without a label, and writes. Single objects
// cannot be read.
func (h *MemoryHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "api" { // the core group
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	switch {
	case r.URL.Path == "/api":
		_ = json.NewEncoder(w).Encode(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		h.groups(w)
	case len(parts) == 3 && r.Method == http.MethodGet:
		h.discover(w, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		h.watch(w, r, parts[len(parts)-1])
	case r.Method == http.MethodGet && strings.Contains(r.URL.Query().Get("labelSelector"), "!="): // all objects have the labels that are watched
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Items: []metav1.PartialObjectMetadata{}})
	case r.Method == http.MethodGet && h.ListsOnly && slices.ContainsFunc(h.kinds, func(k *memoryKind) bool { return k.Resource == parts[len(parts)-1] }):
		h.list(w, r, parts[len(parts)-1])
	case r.Method == http.MethodPost:
		h.create(w, r, parts[len(parts)-1])
	default:
		if r.Method != http.MethodGet {
			h.note(r.Method + " " + r.URL.Path)
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

func (h *MemoryHub) groups(w io.Writer) {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	versions := map[string][]metav1.GroupVersionForDiscovery{}
	for _, k := range h.kinds {
		v := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
		if !slices.Contains(versions[k.Group], v) {
			versions[k.Group] = append(versions[k.Group], v)
		}
	}
	for group, versions := range versions {
		list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: versions, PreferredVersion: versions[0]})
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (h *MemoryHub) discover(w io.Writer, version schema.GroupVersion) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String()}
	for _, k := range h.kinds {
		if k.GroupVersion() == version {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.Resource, Kind: k.kind, Namespaced: k.namespaced, Verbs: metav1.Verbs{"get", "list", "watch", "create"}})
		}
	}
	_ = json.NewEncoder(w).Encode(list)
}

// list sends a page, or all objects if the client accepts the state of the API server's cache.
func (h *MemoryHub) list(w io.Writer, r *http.Request, resource string) {
	k := h.kinds[slices.IndexFunc(h.kinds, func(k *memoryKind) bool { return k.Resource == resource })]
	query := r.URL.Query()
	begin, _ := strconv.Atoi(query.Get("continue"))
	end, more := k.objects, ""
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && begin+limit < k.objects && query.Get("resourceVersion") != "0" {
		end = begin + limit
		more = fmt.Sprintf(`,"continue":"%d"`, end)
	}
	kind := k.header(r)
	_, _ = fmt.Fprintf(w, `{%s,"metadata":{"resourceVersion":"1"%s},"items":[`, strings.TrimSuffix(kind, `"`)+`List"`, more)
	for i := begin; i < end; i++ {
		separator := ","
		if i == begin {
			separator = ""
		}
		if _, err := fmt.Fprintf(w, "%s{%s,%s", separator, kind, k.object(i)[1:]); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "]}")
}

// header returns the first members of an object, in the form that r accepts.
func (k *memoryKind) header(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return `"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata"`
	}
	return fmt.Sprintf(`"apiVersion":%q,"kind":%q`, k.GroupVersion(), k.kind)
}

// watch streams all objects and the mark of their end, and then stays silent.
func (h *MemoryHub) watch(w http.ResponseWriter, r *http.Request, resource string) {
	i := slices.IndexFunc(h.kinds, func(k *memoryKind) bool { return k.Resource == resource })
	streams := r.URL.Query().Get("sendInitialEvents") != ""
	switch {
	case i < 0:
		w.WriteHeader(http.StatusNotFound)
		return
	case h.ListsOnly && streams:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: "sendInitialEvents is forbidden"})
		return
	}
	if !h.ListsOnly {
		h.stream(w, r, h.kinds[i])
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	<-r.Context().Done()
}

func (h *MemoryHub) stream(w io.Writer, r *http.Request, k *memoryKind) {
	header := k.header(r)
	for i := range k.objects {
		if _, err := fmt.Fprintf(w, `{"type":"ADDED","object":{%s,%s}`+"\n", header, k.object(i)[1:]); err != nil {
			return
		}
	}
	_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{%s,"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", header)
}

func (h *MemoryHub) create(w http.ResponseWriter, r *http.Request, resource string) {
	if resource != "events" {
		h.note(r.Method + " " + resource)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var object map[string]any
	if json.Unmarshal(body, &object) == nil { // otherwise the body is Protobuf, and its metadata is not read
		if metadata, ok := object["metadata"].(map[string]any); ok {
			metadata["uid"], metadata["resourceVersion"], metadata["generation"] = fmt.Sprint("uid-", metadata["name"]), "1", 1
		}
		body, _ = json.Marshal(object) // it was decoded just now
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

func (h *MemoryHub) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes[what]++
}
