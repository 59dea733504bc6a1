// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// If the API server has no WatchList, the informer lists by pages, and trims a page before it requests the
// next. If the pages have expired, the informer lists everything again.
func TestInformers_listByPages(t *testing.T) {
	const objects = 2*pageSize + 100
	for name, test := range map[string]struct {
		expired string // the page that expires once
		want    []string
	}{
		"pages":   {want: []string{"500 from  after 0", "500 from 500 after 500", "500 from 1000 after 1000"}},
		"expired": {expired: "1000", want: []string{"500 from  after 0", "500 from 500 after 500", "500 from 1000 after 1000", " from  after 1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			hub := testkit.NewMemoryHub(t)
			hub.ListsOnly = true
			hub.Serve(works, "ManifestWork", true, objects, func(i int) []byte {
				return fmt.Appendf(nil, `{"metadata":{"namespace":"cluster1","name":"work-%d","annotations":{"a":"b"}},"spec":{"deleteOption":["odd"]}}`, i)
			})
			var mu sync.Mutex
			var requests []string
			trimmed := map[string]bool{}
			config := rest.CopyConfig(hub.Config())
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					query := r.URL.Query()
					if query.Get("watch") != "" {
						return next.RoundTrip(r)
					}
					mu.Lock()
					defer mu.Unlock()
					requests = append(requests, fmt.Sprintf("%s from %s after %d", query.Get("limit"), query.Get("continue"), len(trimmed)))
					if test.expired != "" && query.Get("continue") == test.expired {
						test.expired = ""
						gone := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
						return &http.Response{StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(gone)), Request: r}, nil
					}
					return next.RoundTrip(r)
				})
			})
			informer := Informers(source(t, config))(nil, &workv1.ManifestWork{}, 0, toolscache.Indexers{})
			if err := informer.SetTransform(func(in any) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				work, ok := in.(*workv1.ManifestWork)
				if !ok {
					return nil, fmt.Errorf("a %T", in)
				}
				work.Annotations, trimmed[work.Name] = nil, true
				return work, nil
			}); err != nil {
				t.Fatal(err)
			}
			go informer.RunWithContext(t.Context())
			testkit.Until(t, "the first list", informer.HasSynced)
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(test.want, requests); diff != "" {
				t.Errorf("requested (-want +got):\n%s", diff)
			}
			if n := len(informer.GetStore().ListKeys()); n != objects {
				t.Errorf("%d works came, want %d", n, objects)
			}
			if last, exists, err := informer.GetStore().GetByKey(fmt.Sprintf("cluster1/work-%d", objects-1)); err != nil || !exists || last.(*workv1.ManifestWork).Annotations != nil {
				t.Errorf("the last work is %v, %v", last, err)
			}
		})
	}
}

// A lister requests pages, and its memory does not grow with the objects on them.
func TestLister_holdsOneObject(t *testing.T) {
	const objects, size = pageSize + 20, 500 << 10
	hub := testkit.NewMemoryHub(t)
	hub.ListsOnly = true
	hub.Serve(works, "ManifestWork", true, objects, func(i int) []byte {
		return fmt.Appendf(nil, `{"metadata":{"namespace":"cluster1","name":"work-%d"},"status":{"conditions":[{"message":%q}]}}`, i, strings.Repeat("x", size))
	})
	lister, err := NewLister[slimWork](hub.Config(), works)
	if err != nil {
		t.Fatal(err)
	}
	n, peak := 0, uint64(0)
	err = lister.Each(t.Context(), "", labels.Everything(), func(w *slimWork) bool {
		if w.Metadata.Name != fmt.Sprintf("work-%d", n) || len(w.Status.Conditions[0].Message) != size {
			t.Errorf("object %d is %s", n, w.Metadata.Name)
		}
		if n++; n%100 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		return true
	})
	if err != nil || n != objects {
		t.Fatalf("%d objects came, %v", n, err)
	}
	if limit := uint64(50 * size); peak == 0 || peak > limit {
		t.Errorf("%d bytes are in use, want at most %d", peak, limit)
	}
}

// A lister ends when it is told to. It returns the API server's own error with its reason.
func TestLister_endsEarly(t *testing.T) {
	var requested []string
	config := &rest.Config{Host: "https://hub.example.com", QPS: -1, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		requested = append(requested, r.URL.Path+" "+r.URL.Query().Get("labelSelector")+" "+r.URL.Query().Get("continue"))
		status, body := http.StatusOK, `{"metadata":{"continue":"next"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
		if strings.Contains(r.URL.Path, "missing") {
			status, body = http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	lister, err := NewLister[slimWork](config, works)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = lister.Each(t.Context(), "cluster1", selected, func(*slimWork) bool { n++; return n < 3 })
	path := "/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks example.com/selected=true "
	if diff := cmp.Diff([]string{path, path + "next"}, requested); err != nil || n != 3 || diff != "" {
		t.Errorf("%d objects, %v (-want +got):\n%s", n, err, diff)
	}
	err = lister.Each(t.Context(), "missing", labels.Everything(), func(*slimWork) bool { return true })
	if !apierrors.IsNotFound(err) {
		t.Errorf("the error is %v", err)
	}
}

func TestDecodeList(t *testing.T) {
	for name, test := range map[string]struct {
		list string
		want []string
		meta string
		err  string
	}{
		"items":       {list: `{"kind":"L","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`, want: []string{"a", "b"}, meta: "7 c"},
		"other order": {list: `{"items":[{"metadata":{"name":"a"}}],"other":{"a":[1]},"metadata":{"resourceVersion":"7"}}`, want: []string{"a"}, meta: "7 "},
		"null":        {list: `{"metadata":{"resourceVersion":"7"},"items":null}`, meta: "7 "},
		"cut":         {list: `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}`, want: []string{"a"}, err: "EOF"},
		"no list":     {list: `[]`, err: "[ in place of {"},
		"no items":    {list: `{"items":{"a":1}}`, err: "{ in place of ["},
		"odd item":    {list: `{"items":[{"metadata":"x"}]}`, err: "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			meta, err := decodeList(strings.NewReader(test.list), func(w *slimWork) error {
				got = append(got, w.Metadata.Name)
				return nil
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if test.err == "" && (err != nil || meta.ResourceVersion+" "+meta.Continue != test.meta) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got %+v, %v; want %q, %q", meta, err, test.meta, test.err)
			}
		})
	}
}
