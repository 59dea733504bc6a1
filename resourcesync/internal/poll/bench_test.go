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
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
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
)

// benchServer answers at once, so that what is measured is ours.
type benchServer struct {
	batches map[string][]byte // by the first cluster
	values  []byte
	view    fleet.View
}

func newBenchServer() *benchServer {
	s := &benchServer{batches: map[string][]byte{}, view: fleet.View{Sets: map[intermediate.Key]bool{}}}
	for a := range benchApps {
		s.view.Sets[intermediate.Key{Namespace: "argocd", Name: fmt.Sprintf("set-%d", a)}] = true
	}
	for c := range benchClusters {
		s.view.Clusters = append(s.view.Clusters, fmt.Sprintf("cluster-%04d", c))
	}
	for at := 0; at < benchClusters; at += 50 {
		s.batches[s.view.Clusters[at]] = benchAnswer(s.view.Clusters[at : at+50])
	}
	s.values, _ = json.Marshal(map[string]any{"data": map[string]any{"searchComplete": s.view.Clusters}})
	return s
}

func benchAnswer(clusters []string) []byte {
	var items, objects, nodes bytes.Buffer
	for _, c := range clusters {
		fmt.Fprintf(&nodes, `{"_uid":"cluster__%s","kind":"Cluster","name":"%s","cluster":"%s","_relatedUids":[`, c, c, c)
		for a := range benchApps {
			uid := fmt.Sprintf("%s/3d3e82f5-07c2-48c6-5b7a-%012d", c, a)
			fmt.Fprintf(&nodes, `"%s",`, uid)
			fmt.Fprintf(&items, `{"_hostingResource":"ApplicationSet/argocd/set-%d","_uid":"%s","apigroup":"argoproj.io","apiversion":"v1alpha1","applicationSet":"","chart":"","cluster":"%s","created":"2025-11-20T10:00:00Z","destinationName":"","destinationNamespace":"guestbook","destinationServer":"https://kubernetes.default.svc","healthStatus":"Healthy","kind":"Application","kind_plural":"applications","label":"apps.open-cluster-management.io/application-set=true","name":"app-%d-%s","namespace":"argocd","path":"guestbook","repoURL":"https://github.com/example/apps","syncStatus":"Synced","targetRevision":"main"},`, a, uid, c, a, c)
			for o := range benchObjects {
				fmt.Fprintf(&objects, `{"_relatedUids":["%s"],"_uid":"%s/0da0e600-0936-0377-%04d-%012d","apiversion":"v1","cluster":"%s","created":"2025-11-20T10:00:00Z","kind":"ConfigMap","kind_plural":"configmaps","label":"app=guestbook; app.kubernetes.io/instance=app-%d-%s","name":"config-%d-%d","namespace":"guestbook"},`, uid, c, a, o, c, a, c, a, o)
			}
		}
		nodes.Truncate(nodes.Len() - 1)
		nodes.WriteString("]},")
	}
	list := func(b bytes.Buffer) []byte { return bytes.TrimSuffix(b.Bytes(), []byte(",")) }
	return fmt.Appendf(nil, `{"data":{"searchResult":[{"count":%d,"items":[%s],"related":[{"kind":"ConfigMap","items":[%s]},{"kind":"Cluster","items":[%s]}]}]}}`,
		len(clusters)*benchApps, list(items), list(objects), list(nodes))
}

func (s *benchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if bytes.Contains(body, []byte("searchComplete")) {
		_, _ = w.Write(s.values)
		return
	}
	for first, answer := range s.batches {
		if bytes.Contains(body, fmt.Appendf(nil, `"values":["%s"`, first)) {
			_, _ = w.Write(answer)
			return
		}
	}
	_, _ = io.WriteString(w, `{"data":{"searchResult":[{"count":0,"items":[],"related":null}]}}`)
}

// View implements Fleet.
func (s *benchServer) View(context.Context) (fleet.View, error) { return s.view, nil }

// BenchmarkPoll polls 5,000 Applications with 10 resources each that do not
// change. Its measure is BenchmarkBareQueries: the same requests, answers thrown
// away.
func BenchmarkPoll(b *testing.B) {
	s := newBenchServer()
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
		Search: search.New(search.Options{URL: server.URL, CAFile: filepath.Join(dir, "ca"), TokenFile: filepath.Join(dir, "token"), Timeout: time.Minute, MaxBytes: 64 << 20}),
		Fleet:  s, Files: store, Log: logr.Discard(), Options: Options{Interval: 10 * time.Second, ProbeInterval: time.Minute, BatchSize: 50},
	}
	p.restore()
	p.poll(b.Context())
	if len(p.known) != benchClusters || len(p.written) != benchApps {
		b.Fatalf("%d clusters, %d reports: %s", len(p.known), len(p.written), p.failing)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.poll(b.Context())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
	runtime.KeepAlive(p)
}

func BenchmarkBareQueries(b *testing.B) {
	s := newBenchServer()
	server := httptest.NewTLSServer(s)
	defer server.Close()
	c := server.Client()
	for b.Loop() {
		var batches []string
		for first := range s.batches {
			batches = append(batches, first)
		}
		each(batches, func(first string) {
			response, err := c.Post(server.URL, "application/json", bytes.NewReader(fmt.Appendf(nil, `{"values":["%s"]}`, first)))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		})
	}
}
