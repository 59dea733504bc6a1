// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const (
	maxAnswer = 12 << 20 // the default of --search-max-answer
	// memoryLimit is the container's memory in the manifests.
	memoryLimit = 192 << 20
	// reserve is for parts that this test does not run: the manager with its caches, stacks, the binary, and
	// uncollected garbage.
	reserve = 60 << 20
)

// fatServer answers for any cluster with almost the largest answer: ten Applications with thousands of
// resources each. row is the format of a resource: related UIDs, cluster and number.
type fatServer struct{ row string }

func (s fatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.Contains(string(body), "searchComplete") {
		_, _ = io.WriteString(w, `{"data":{"searchComplete":["fat-0","fat-1"]}}`)
		return
	}
	cluster := "fat-0"
	if strings.Contains(string(body), "fat-1") {
		cluster = "fat-1"
	}
	var uids []string
	written := 0
	put := func(format string, args ...any) {
		n, _ := fmt.Fprintf(w, format, args...)
		written += n
	}
	put(`{"data":{"searchResult":[{"count":11,"items":[`)
	for a := range 10 {
		uid := fmt.Sprintf("%s/3d3e82f5-07c2-48c6-5b7a-%012d", cluster, a)
		uids = append(uids, `"`+uid+`"`)
		put(`{"_hostingResource":"ApplicationSet/argocd/guestbook","_uid":"%s","cluster":"%s","kind":"Application","name":"app-%d","namespace":"argocd"},`, uid, cluster, a)
	}
	// This row closes the list. It counts, but it is not an Application of an ApplicationSet.
	put(`{"_uid":"%s/last","cluster":"%s","kind":"Application","name":"last","namespace":"argocd"}],"related":[`, cluster, cluster)
	put(`{"kind":"Cluster","items":[{"_uid":"cluster__%s","kind":"Cluster","name":"%s","cluster":"%s","_relatedUids":[%s]}]},{"kind":"ConfigMap","items":[`, cluster, cluster, cluster, strings.Join(uids, ","))
	for o := 0; written < maxAnswer-1024; o++ {
		put(s.row, uids[o%10], cluster, o)
	}
	put(`{"_relatedUids":[%s],"_uid":"%s/last-object","apiversion":"v1","cluster":"%s","kind":"ConfigMap","name":"last","namespace":"n"}]}]}]}}`, uids[0], cluster, cluster)
}

// meeting blocks each decoded answer until both are decoded, and then measures the live memory.
type meeting struct {
	*search.Client
	group sync.WaitGroup
	once  sync.Once
	peak  uint64
	rows  int
	mu    sync.Mutex
}

func (m *meeting) Applications(ctx context.Context, clusters []string, last search.Digest) (*search.Result, error) {
	r, err := m.Client.Applications(ctx, clusters, last)
	if err != nil {
		return nil, err
	}
	apps, _ := translate.Clusters(r)
	m.group.Done()
	m.group.Wait()
	m.once.Do(func() {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		m.peak = stats.HeapAlloc
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows += len(r.Related)
	runtime.KeepAlive(apps)
	return r, nil
}

// The container's memory fits two answers of the largest size in parallel with the largest known state.
func TestMemory_fitsTwoLargestAnswers(t *testing.T) {
	for name, row := range map[string]string{
		"usual rows": `{"_relatedUids":[%[1]s],"_uid":"%[2]s/0da0e600-0936-0377-0000-%012[3]d","apiversion":"v1","cluster":"%[2]s","created":"2025-11-20T10:00:00Z",` +
			`"kind":"ConfigMap","kind_plural":"configmaps","label":"","name":"some-resource-of-a-usual-name-%07[3]d","namespace":"namespace-of-the-application"},`,
		"the smallest rows that are accepted": `{"_relatedUids":[%[1]s],"_uid":"%[2]s/%[3]d","cluster":"%[2]s","kind":"A","name":"%07[3]d","row":"` + strings.Repeat("x", 30) + `"},`,
	} {
		t.Run(name, func(t *testing.T) { fitTwoAnswers(t, fatServer{row}) })
	}
}

func fitTwoAnswers(t *testing.T, fat fatServer) {
	t.Helper()
	server := httptest.NewTLSServer(fat)
	defer server.Close()
	dir := t.TempDir()
	files := map[string][]byte{"ca": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), "token": []byte("token")}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &meeting{Client: search.New(search.Options{
		URL: server.URL, CAFile: filepath.Join(dir, "ca"), TokenFile: filepath.Join(dir, "token"), MaxBytes: maxAnswer,
	})}
	p := &Poller{
		Search: m, Files: intermediate.NewStore(dir), Log: logr.Discard(),
		Options: Options{Interval: time.Minute, BatchSize: 1},
	}
	p.restore(t.Context())
	p.round = &round{started: time.Now(), published: time.Now()}
	accept := func(name string, apps []translate.Application) {
		p.state.clusters[name] = &clusterState{}
		p.state.replace(name, p.state.clusters[name], apps)
	}
	for c := 0; p.state.bytes() < maxKnown-1<<20; c++ {
		name := fmt.Sprintf("cluster-%04d", c)
		accept(name, crowd(name, 10, 30))
	}
	for _, c := range []string{"fat-0", "fat-1"} { // both are known to be light, so they are requested in parallel
		accept(c, crowd(c, 1, 1))
	}
	m.group.Add(2)
	err := p.readAll(t.Context(), []string{"fat-0", "fat-1"})
	if p.round.good != 2 || m.rows < 60_000 {
		t.Fatalf("%d good answers with %d rows: %v", p.round.good, m.rows, err)
	}
	if m.peak > memoryLimit-reserve {
		t.Errorf("%d MiB are alive, want at most %d", m.peak>>20, (memoryLimit-reserve)>>20)
	}
	t.Logf("%d MiB alive, known %d MiB", m.peak>>20, p.state.bytes()>>20)
	if p.state.bytes() > maxKnown {
		t.Errorf("%d bytes are known, more than %d", p.state.bytes(), maxKnown)
	}
}

// crowd returns Applications with resources that have unique names.
func crowd(cluster string, apps, resources int) []translate.Application {
	var out []translate.Application
	for a := range apps {
		app := translate.Application{Set: setKey, Namespace: "argocd", Name: fmt.Sprintf("app-%d", a)}
		for r := range resources {
			app.Resources = append(app.Resources, intermediate.Resource{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: "namespace-of-the-application", Name: fmt.Sprintf("%s-resource-%d-%04d", cluster, a, r),
			})
		}
		out = append(out, app)
	}
	return out
}
