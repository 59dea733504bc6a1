// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const (
	benchClusters = 500
	benchApps     = 10 // on each cluster
	benchObjects  = 10 // of each Application
	benchBatch    = 50 // clusters of one request
)

// benchServer is a search service with prepared answers. The real service returns rows in any order, so
// each answer alternates between two orders of rows and kinds.
type benchServer struct {
	latency time.Duration
	batches map[string][2][]byte // by the first cluster
	asked   atomic.Int64
	values  []byte
	view    fleet.View
}

func newBenchServer() *benchServer {
	s := &benchServer{batches: map[string][2][]byte{}, view: fleet.View{Sets: map[intermediate.Key]bool{}}}
	for a := range benchApps {
		s.view.Sets[intermediate.Key{Namespace: "argocd", Name: fmt.Sprintf("set-%d", a)}] = true
	}
	for c := range benchClusters {
		s.view.Clusters = append(s.view.Clusters, fmt.Sprintf("cluster-%04d", c))
	}
	for at := 0; at < benchClusters; at += benchBatch {
		s.batches[s.view.Clusters[at]] = benchAnswers(s.view.Clusters[at : at+benchBatch])
	}
	s.values, _ = json.Marshal(map[string]any{"data": map[string]any{"searchComplete": s.view.Clusters}})
	return s
}

func benchAnswers(clusters []string) (out [2][]byte) {
	var items, objects, nodes []string
	for _, c := range clusters {
		var uids []string
		for a := range benchApps {
			uid := fmt.Sprintf("%s/3d3e82f5-07c2-48c6-5b7a-%012d", c, a)
			uids = append(uids, `"`+uid+`"`)
			items = append(items, fmt.Sprintf(`{"_hostingResource":"ApplicationSet/argocd/set-%d","_uid":"%s","apigroup":"argoproj.io","apiversion":"v1alpha1","applicationSet":"","chart":"","cluster":"%s","created":"2025-11-20T10:00:00Z","destinationName":"","destinationNamespace":"guestbook","destinationServer":"https://kubernetes.default.svc","healthStatus":"Healthy","kind":"Application","kind_plural":"applications","label":"apps.open-cluster-management.io/application-set=true","name":"app-%d-%s","namespace":"argocd","path":"guestbook","repoURL":"https://github.com/example/apps","syncStatus":"Synced","targetRevision":"main"}`, a, uid, c, a, c))
			for o := range benchObjects {
				objects = append(objects, fmt.Sprintf(`{"_relatedUids":["%s"],"_uid":"%s/0da0e600-0936-0377-%04d-%012d","apiversion":"v1","cluster":"%s","created":"2025-11-20T10:00:00Z","kind":"ConfigMap","kind_plural":"configmaps","label":"app=guestbook; app.kubernetes.io/instance=app-%d-%s","name":"config-%d-%d","namespace":"guestbook"}`, uid, c, a, o, c, a, c, a, o))
			}
		}
		nodes = append(nodes, fmt.Sprintf(`{"_uid":"cluster__%s","kind":"Cluster","name":"%s","cluster":"%s","_relatedUids":[%s]}`, c, c, c, strings.Join(uids, ",")))
	}
	list := func(rows []string) string { return strings.Join(rows, ",") }
	for i, order := range []string{
		`{"data":{"searchResult":[{"count":%[1]d,"items":[%[2]s],"related":[{"kind":"ConfigMap","items":[%[3]s]},{"kind":"Cluster","items":[%[4]s]}]}]}}`,
		`{"data":{"searchResult":[{"count":%[1]d,"items":[%[2]s],"related":[{"kind":"Cluster","items":[%[4]s]},{"kind":"ConfigMap","items":[%[3]s]}]}]}}`,
	} {
		out[i] = fmt.Appendf(nil, order, len(items), list(items), list(objects), list(nodes))
		slices.Reverse(items)
		slices.Reverse(objects)
	}
	return out
}

func (s *benchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	<-time.After(s.latency)
	if bytes.Contains(body, []byte("searchComplete")) {
		_, _ = w.Write(s.values)
		return
	}
	for first, answers := range s.batches {
		if bytes.Contains(body, []byte(`"values":["`+first+`"`)) {
			_, _ = w.Write(answers[s.asked.Add(1)/int64(len(s.batches))%2])
			return
		}
	}
	_, _ = io.WriteString(w, `{"data":{"searchResult":[{"count":0,"items":[],"related":null}]}}`)
}

// View returns a fixed fleet.
func (s *benchServer) View(context.Context) (fleet.View, error) { return s.view, nil }

// BenchmarkPoll polls 5,000 unchanged Applications with 10 resources each. In turns, it sends the same
// requests alone and discards the answers. "×-queries" is the time of a poll divided by the time of the
// requests alone. A service that answers at once leaves no time to decode in parallel, so a slower service
// is measured, too.
func BenchmarkPoll(b *testing.B) {
	for name, latency := range map[string]time.Duration{"answered-at-once": 0, "answered-after-100ms": 100 * time.Millisecond} {
		b.Run(name, func(b *testing.B) { benchmarkPoll(b, latency) })
	}
}

func benchmarkPoll(b *testing.B, latency time.Duration) {
	s := newBenchServer()
	s.latency = latency
	server := httptest.NewTLSServer(s)
	defer server.Close()
	dir := b.TempDir()
	files := map[string][]byte{"ca": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), "token": []byte("token")}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	store := intermediate.NewStore(filepath.Join(dir, "reports"))
	if err := store.Prepare(); err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := &Poller{
		Search: search.New(search.Options{URL: server.URL, CAFile: filepath.Join(dir, "ca"), TokenFile: filepath.Join(dir, "token"), MaxBytes: 64 << 20}),
		Fleet:  s, Files: store, Log: logr.Discard(), Options: Options{Interval: 10 * time.Second, BatchSize: benchBatch},
	}
	p.restore(b.Context())
	p.poll(b.Context())
	if len(p.state.clusters) != benchClusters || len(p.reports.written) != benchApps {
		b.Fatalf("%d clusters, %d reports: %s", len(p.state.clusters), len(p.reports.written), p.changes[subjectFailure])
	}
	caller := server.Client()
	var polls, queries []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		s.queryAlone(b, caller, server.URL)
		queries = append(queries, time.Since(began))
		began = time.Now()
		p.poll(b.Context())
		polls = append(polls, time.Since(began))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
	b.ReportMetric(float64(median(polls))/float64(median(queries)), "×-queries")
	b.ReportMetric(median(polls).Seconds()*1e3, "ms/poll")
	runtime.KeepAlive(p)
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}

// queryAlone sends the requests of a poll with the same parallelism, and discards the answers.
func (s *benchServer) queryAlone(b *testing.B, caller *http.Client, url string) {
	ask := func(body string) {
		response, err := caller.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	ask("searchComplete")
	forEach(slices.Collect(maps.Keys(s.batches)), inFlight, func(first string) { ask(fmt.Sprintf(`{"values":["%s"]}`, first)) })
}
