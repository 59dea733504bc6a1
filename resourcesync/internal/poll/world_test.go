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

// world is a fleet, the search service that indexes it, and a poller between them
// and a real directory. Times are those of a synctest bubble.
type world struct {
	t      *testing.T
	dir    string
	store  *intermediate.Store
	poller *Poller
	logs   []string
	// problems are the logs of level error.
	problems []string

	mu   sync.Mutex
	view fleet.View
	// apps are what runs: cluster → Application → its objects, as "Kind/name".
	apps map[string]map[string][]string
	// bent bends an answer, the only reply that a test sees to a batch.
	bent func(clusters []string, r *search.Result) error
	// down fails everything.
	down error
	// hidden are clusters that the account does not see.
	hidden map[string]bool
	// access counts questions for the clusters that the account sees.
	access int
	// seen is the answer to them, nil for the true one.
	seen *search.Result
	// accessFails fails them.
	accessFails bool
	asked       int
	// decoded counts the answers to batches that were not the last one again.
	decoded int
	most    int
	now     int
	viewed  error
	// stop ends the requests of the poller for clusters alone.
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

// restart replaces the poller by a new one over the same directory.
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

// log keeps what is said; funcr writes "logger" and "level" before the message of an
// info line only.
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

// with is for tests whose poller runs beside them.
func (w *world) with(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func (w *world) outage() (err error) {
	w.with(func() { err = w.down })
	return err
}

// poll polls once and then lets the interval pass.
func (w *world) poll() {
	w.t.Helper()
	started := time.Now()
	w.poller.poll(w.t.Context())
	clock.Sleep(w.t.Context(), 10*time.Second-time.Since(started))
}

// polls polls some times.
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
		var uids []string // of those with objects: the others have no relation to the cluster either
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
		return nil, &search.Error{Kind: search.KindUnauthenticated}
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

// row is what a report says of one Application: its objects, those that are held in
// brackets, and how old that is.
type row struct {
	objects string
	age     time.Duration // -1: it is true now
}

// rows reads the report as aggregation does. Keys are "<cluster>/<application>".
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
