// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
)

// Options are the options of a [Viewer].
type Options struct {
	// ArgoCDNamespace is Argo CD's namespace on the hub, Observer the observers' on managed
	// clusters.
	ArgoCDNamespace, Observer string
	// Keep is how long a view stays after it was last open, at most.
	Keep time.Duration
	// MaxOpen limits the views at a time. A single cluster has half of them at most.
	MaxOpen int
	// Recheck is after how long an open Application, its work and its cluster are read again. 0
	// means ten seconds.
	Recheck time.Duration
	// Outdated is the time after which a view is shown as old if the observer has not reported
	// meanwhile. 0 means two and a half minutes.
	Outdated time.Duration
}

// How often, and how many.
const (
	interval = 100 * time.Millisecond
	// parallel is how many views are worked on at a time, and parallelWorks how many
	// ManifestWorks are read: a managed cluster can make each as large as an object may be.
	parallel, parallelWorks = 16, 4
	recheck                 = 10 * time.Second
	// outdated is two of the observer's minutes and some time on the way.
	outdated = 150 * time.Second
	// rewrite is the longest time until Redis is written again, so that no open view expires. After
	// a change the interval begins with firstRewrite and doubles. A page that has a tree shows none
	// again if its own first request, which began earlier, fails later.
	rewrite      = time.Minute
	firstRewrite = time.Second
	// sweeps is how many times in [Options.Keep] views that are not open any more are removed.
	sweeps = 5
	// expiration is how long Redis keeps a view that no viewer removes.
	expiration = 5 * time.Minute
)

// Viewer is one loop. All its memory is in entries and sent. Parallel tasks of the loop have one
// entry each.
type Viewer struct {
	Options
	// Client reads the metadata of ManifestWorks with [request.Label] from a cache. Live does not
	// read from a cache.
	Client client.Client
	Live   client.Reader
	Works  Works
	// Metadata watches Applications.
	Metadata metadata.Interface
	Redis    *argoredis.Redis
	Log      logr.Logger

	entries   entries
	sent      map[client.ObjectKey]sent
	refreshed chan string // instances that argocd-server refreshes
	swept     time.Time
	full      bool       // an Application that is open has no room
	other     string     // the cache version of argocd-server that was last logged as unknown
	decoding  sync.Mutex // one view at a time, to limit the memory
}

// entries are Applications by the name that Argo CD has for them.
type entries map[string]*entry

type entry struct {
	open      bool      // a page has it open
	seen      time.Time // when a page had it open, or argocd-server refreshed it, zero if not since the start
	checked   time.Time // when target was last read
	target    *target   // nil if it has no view
	ofHub     bool      // the hub's own Argo CD deploys it, so it never has one
	work      string    // name of the ManifestWork that requests the view, or ""
	alone     bool      // that one requests no other
	answered  bool      // its cluster has sent a view
	problem   string    // the problem that was last logged
	shown     string    // resource version of the work at the last view that was shown
	renewed   int64     // the observer's last report of its clock, and when that arrived
	renewedAt time.Time
	written   [32]byte  // digest of the view and the notes that Redis has
	due       time.Time // when Redis is written again, changed or not
	next      time.Duration
	status    string // the status that the viewer wrote to the hub Application, or ""
}

// unknownStatus is for an Application with a status that an earlier viewer may have written.
const unknownStatus = "unknown"

// each calls do for the entries that pass, up to limit at a time, and returns when all is done.
func (all entries) each(limit int, pass func(*entry) bool, do func(instance string, e *entry)) {
	var group errgroup.Group
	group.SetLimit(limit)
	for instance, e := range all {
		if pass(e) {
			group.Go(func() error { do(instance, e); return nil })
		}
	}
	_ = group.Wait() // none fails
}

// sent is the content with which a ManifestWork was last written.
type sent struct {
	applications request.Applications // none: it was deleted
	generation   int64                // 0 if it does not exist, -1 if it is another's
	at           time.Time
	failed       bool
}

// unchecked tells that a page has it open and its target was not read, because there was no room.
func (e *entry) unchecked() bool {
	return e.open && e.target == nil && e.checked.IsZero()
}

// unassigned tells that it needs a ManifestWork and has none.
func (e *entry) unassigned(now time.Time, keep time.Duration) bool {
	return e.target != nil && e.work == "" && now.Sub(e.seen) < keep
}

// key returns the key of the ManifestWork that requests an entry.
func (e *entry) key() client.ObjectKey {
	return client.ObjectKey{Namespace: e.target.cluster, Name: e.work}
}

// weight is how many of the [request.MaxApplications] of a ManifestWork an entry takes.
func (e *entry) weight() int {
	if e.alone {
		return request.MaxApplications
	}
	return 1
}

// entry returns the entry of an instance.
func (v *Viewer) entry(instance string) *entry {
	e := v.entries[instance]
	if e == nil {
		e = &entry{}
		v.entries[instance] = e
	}
	return e
}

// report logs, once, the problem that keeps a view from being shown.
func (v *Viewer) report(e *entry, instance, problem string) {
	if problem != "" && problem != e.problem {
		v.Log.Info("no view, or an incomplete one", "instance", instance, "reason", problem)
	}
	e.problem = problem
}

// failures are the errors of passes, and when each last occurred.
type failures map[string]time.Time

// add reports whether a failure is new. Most passes do not retry a task that failed a moment ago.
// So a failure lasts until it has not occurred for twice [recheck].
func (f failures) add(err error, now time.Time) (isNew bool) {
	maps.DeleteFunc(f, func(_ string, last time.Time) bool { return now.Sub(last) > 2*recheck })
	_, known := f[err.Error()]
	f[err.Error()] = now
	return !known
}

// utc is a time as a label shows it.
func utc(t time.Time) string { return t.UTC().Format("01-02 15:04") + " UTC" }
