// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// world is a fleet, its search service, and a poller that writes to a real directory. It runs in a synctest
// bubble.
type world struct {
	t      *testing.T
	dir    string
	store  *intermediate.Store
	poller *Poller
	logs   []string
	// problems has the error logs.
	problems []string

	mu   sync.Mutex
	view fleet.View
	// apps has the deployed objects: cluster → Application → objects as "Kind/name".
	apps map[string]map[string][]string
	// bent changes an answer to a batch, or returns an error.
	bent func(clusters []string, r *search.Result) error
	// down is the error of all requests.
	down error
	// hidden has the clusters that the account may not see.
	hidden map[string]bool
	// access counts the requests for the visible clusters.
	access int
	// seen replaces the answer to these requests, unless it is nil.
	seen *search.Result
	// accessFails makes these requests fail.
	accessFails bool
	asked       int
	// decoded counts the answers to batches that differ from the last one.
	decoded int
	most    int
	now     int
	viewed  error
	// stop ends the poller's requests for single clusters.
	stop func()
	// begun is called at the start of each poll.
	begun func()
}

const set = "argocd/guestbook"

var setKey = intermediate.Key{Namespace: "argocd", Name: "guestbook"}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, dir: t.TempDir(),
		view: fleet.View{Clusters: []string{"c1", "c2"}, Hub: []string{"local-cluster"}, Sets: map[intermediate.Key]bool{setKey: true}},
		apps: map[string]map[string][]string{
			"c1": {"app": {"ConfigMap/a", "ConfigMap/b"}},
			"c2": {"app": {"ConfigMap/a", "ConfigMap/b"}},
		},
		hidden: map[string]bool{},
	}
	w.store = intermediate.NewStore(w.dir)
	w.restart()
	return w
}

// restart replaces the poller by a new one with the same directory.
func (w *world) restart() {
	if w.stop != nil {
		w.stop()
	}
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop = stop
	w.poller = &Poller{
		Search: w, Fleet: w, Files: w.store,
		Log:     funcr.New(w.log, funcr.Options{}),
		Options: Options{Interval: 10 * time.Second, BatchSize: 50},
	}
	w.poller.restore(ctx)
}

// log stores a log line. funcr writes "level" for info lines only.
func (w *world) log(_, args string) {
	w.with(func() {
		w.logs = append(w.logs, args)
		if !strings.Contains(args, `"level"=`) {
			w.problems = append(w.problems, args)
		}
	})
}

func contains(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

// with calls do with the lock, for tests with a poller that is running in parallel.
func (w *world) with(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func (w *world) outage() (err error) {
	w.with(func() { err = w.down })
	return err
}

// poll polls once and waits until the interval is over.
func (w *world) poll() {
	w.t.Helper()
	started := time.Now()
	w.poller.poll(w.t.Context())
	clock.Sleep(w.t.Context(), 10*time.Second-time.Since(started))
}

func (w *world) polls(n int) {
	w.t.Helper()
	for range n {
		w.poll()
	}
}

func (w *world) View(context.Context) (fleet.View, error) {
	if w.begun != nil {
		w.with(w.begun)
	}
	return w.view, w.viewed
}

func (w *world) ClustersWithApplications(context.Context) ([]string, error) {
	if err := w.outage(); err != nil {
		return nil, err
	}
	var clusters []string
	for _, c := range slices.Sorted(maps.Keys(w.apps)) {
		if !w.hidden[c] {
			clusters = append(clusters, c)
		}
	}
	return clusters, nil
}

func (w *world) Applications(ctx context.Context, clusters []string, last search.Digest) (*search.Result, error) {
	w.mu.Lock()
	w.asked++
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	clock.Sleep(ctx, 100*time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now--
	if w.down != nil {
		return nil, w.down
	}
	r := &search.Result{}
	for _, c := range clusters {
		if w.hidden[c] {
			continue
		}
		var uids []string // of the Applications with objects. Others have no relation to the cluster
		for name, objects := range w.apps[c] {
			uid := c + "/" + name
			if len(objects) > 0 {
				uids = append(uids, uid)
			}
			r.Items = append(r.Items, search.Item{
				UID: uid, Cluster: c, Kind: "Application", APIGroup: "argoproj.io", APIVersion: "v1alpha1", Namespace: "argocd", Name: name,
				Hosting: "ApplicationSet/" + set, Health: "Healthy", Sync: "Synced",
			})
			for _, o := range objects {
				r.Related = append(r.Related, object(c, o, uid))
			}
		}
		if len(uids) > 0 {
			r.Related = append(r.Related, search.Item{UID: "cluster__" + c, Kind: "Cluster", Name: c, Cluster: c, RelatedUIDs: uids})
		}
	}
	if w.bent != nil {
		if err := w.bent(clusters, r); err != nil {
			return nil, err
		}
	}
	r.Count = len(r.Items)
	if r.Digest = digest(r); r.Digest == last && last != (search.Digest{}) {
		return &search.Result{Count: r.Count, Digest: last, Unchanged: true}, nil
	}
	w.decoded++
	return r, nil
}

func (w *world) Clusters(context.Context) (*search.Result, error) {
	if err := w.outage(); err != nil {
		return nil, err
	}
	w.access++
	if w.accessFails {
		return nil, &search.Error{Kind: search.KindTooLarge}
	}
	if w.seen != nil {
		return w.seen, nil
	}
	r := &search.Result{}
	for _, c := range w.view.Clusters {
		if !w.hidden[c] {
			r.Items = append(r.Items, search.Item{UID: "cluster__" + c, Kind: "Cluster", Name: c, Cluster: c})
		}
	}
	return r, nil
}

// row is an Application's row in a report: its objects, with held ones in parentheses, and its age.
type row struct {
	objects string
	age     time.Duration // -1: not stale
}

// rows reads the report. Keys are "<cluster>/<application>".
func (w *world) rows() map[string]row {
	w.t.Helper()
	r, err := w.store.Read(setKey.Namespace, setKey.Name)
	if err != nil {
		w.t.Fatalf("read report: %v", err)
	}
	out := map[string]row{}
	for _, a := range r.Applications {
		state := row{age: -1}
		held := map[intermediate.Resource]bool{}
		for _, h := range a.HeldResources {
			held[h.Resource] = true
		}
		for _, o := range a.Resources {
			if held[o] {
				state.objects += "(" + o.Kind + "/" + o.Name + ") "
				continue
			}
			state.objects += o.Kind + "/" + o.Name + " "
		}
		if a.StaleSince != nil {
			state.age = time.Since(*a.StaleSince).Truncate(10 * time.Second)
		}
		out[a.Cluster+"/"+a.Name] = state
	}
	return out
}

func (w *world) expect(reason string, want map[string]row) {
	w.t.Helper()
	if got := w.rows(); !maps.Equal(got, want) {
		w.t.Errorf("%s:\n got %v\nwant %v", reason, got, want)
	}
}

const fresh = time.Duration(-1)

func both(objects string, age time.Duration) map[string]row {
	return map[string]row{"c1/app": {objects, age}, "c2/app": {objects, age}}
}
