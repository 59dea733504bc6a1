// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the hops of a push to one cluster and back, in their order.
const (
	hopAsked   = iota // the hub Application has the refresh
	hopSent           // its ManifestWork carries it
	hopApplied        // the managed cluster's Application has it
	hopSeen           // Argo CD there has compared with the commit
	hopSynced         // and has synced to it
	hopHub            // the hub Application reports that
	hops
)

var hopNames = [hops]string{
	"Argo CD's API server asks for the refresh", "its ManifestWork carries it", "the Application on the managed cluster has it",
	"Argo CD there sees the commit", "it is Synced there", "the hub Application shows it",
}

// recorder records when the hops of the current push were first observed.
type recorder struct {
	mu       sync.Mutex
	changed  chan struct{}
	revision string
	times    map[string][hops]time.Time
	// requests are the request identities in the ManifestWorks of the guestbook, by cluster.
	requests map[string]string
	// asked is the number of requested refreshes, and asks reports whether one is pending, by hub
	// Application.
	asked map[string]int
	asks  map[string]bool
}

// record watches the Applications and ManifestWorks of the guestbook until the test ends.
func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{changed: make(chan struct{}), times: map[string][hops]time.Time{}, requests: map[string]string{}, asked: map[string]int{}, asks: map[string]bool{}}
	watch(t, fleet.Hub, &argocd.ApplicationList{}, env.ArgoCDNamespace, r.hub)
	for _, c := range fleet.Managed {
		watch(t, fleet.Hub, &workv1.ManifestWorkList{}, c.Name, func(work *workv1.ManifestWork) {
			if work.Annotations[contract.HubNameAnnotation] == application(c.Name) {
				r.work(c.Name, work)
			}
		})
		watch(t, c, &argocd.ApplicationList{}, env.ArgoCDNamespace, func(app *argocd.Application) {
			if app.Name == application(c.Name) {
				r.managed(c.Name, app)
			}
		})
	}
	return r
}

func application(cluster string) string { return cluster + "-guestbook" }

// watch calls f with every version of the objects.
func watch[T client.Object](t *testing.T, c *env.Cluster, list client.ObjectList, namespace string, f func(T)) {
	t.Helper()
	w, err := c.Client.Watch(t.Context(), list, client.InNamespace(namespace))
	if err != nil {
		t.Fatalf("watch %T on %s: %v", list, c.Name, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if o, ok := event.Object.(T); ok {
				f(o)
			}
		}
	}()
	t.Cleanup(func() { w.Stop(); <-done })
}

// note records the hops that a cluster has reached now. A hop keeps its first time.
func (r *recorder) note(cluster string, reached ...int) {
	times := r.times[cluster]
	for _, hop := range reached {
		if times[hop].IsZero() {
			times[hop] = time.Now()
		}
	}
	r.times[cluster] = times
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) hub(app *argocd.Application) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cluster := app.Annotations[contract.ClusterAnnotation]
	guestbook := app.Name == application(cluster)
	asks := app.Annotations[argocd.RefreshAnnotation] != ""
	if asks && !r.asks[app.Name] {
		r.asked[app.Name]++
		if guestbook {
			r.note(cluster, hopAsked)
		}
	}
	r.asks[app.Name] = asks
	if sync, revision := syncOf(app); guestbook && sync == argocd.SyncSynced && revision == r.revision {
		r.note(cluster, hopHub)
	}
	r.note(cluster)
}

func (r *recorder) work(cluster string, work *workv1.ManifestWork) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := work.Annotations[contract.RequestAnnotation]; id != r.requests[cluster] {
		r.requests[cluster] = id
		r.note(cluster, hopSent)
	}
}

func (r *recorder) managed(cluster string, app *argocd.Application) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id := app.Annotations[contract.RequestAnnotation]; id != "" && id == r.requests[cluster] && !r.times[cluster][hopSent].IsZero() {
		r.note(cluster, hopApplied)
	}
	sync, revision := syncOf(app)
	if revision == r.revision {
		r.note(cluster, hopSeen)
		if sync == argocd.SyncSynced {
			r.note(cluster, hopSynced)
		}
	}
}

func syncOf(app *argocd.Application) (status, revision string) {
	var s struct {
		Sync struct{ Status, Revision string } `json:"sync"`
	}
	_ = json.Unmarshal(app.Status, &s) // an invalid status counts as empty
	return s.Sync.Status, s.Sync.Revision
}

// begin starts recording a push of a revision.
func (r *recorder) begin(revision string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision, r.times = revision, map[string][hops]time.Time{}
}

// arrived waits until the push has finished: every cluster is Synced to it, and the hub reports that and has
// no pending refresh.
func (r *recorder) arrived(t *testing.T) map[string][hops]time.Time {
	t.Helper()
	var times map[string][hops]time.Time
	if err := r.await(t.Context(), func() (bool, string) {
		for _, c := range fleet.Managed {
			if r.times[c.Name][hopHub].IsZero() || r.times[c.Name][hopSynced].IsZero() || r.asks[application(c.Name)] {
				return false, fmt.Sprintf("%s has passed %v, asks %t", c.Name, r.times[c.Name], r.asks[application(c.Name)])
			}
		}
		times = r.times
		return true, ""
	}); err != nil {
		t.Fatalf("wait for revision %s: %v", r.revision, err)
	}
	return times
}

func (r *recorder) await(ctx context.Context, holds func() (bool, string)) error {
	ctx, cancel := context.WithTimeout(ctx, env.Patience)
	defer cancel()
	for {
		r.mu.Lock()
		changed := r.changed
		ok, saw := holds()
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; last seen: %s", ctx.Err(), saw)
		}
	}
}

// latencies are the durations of the hops of some pushes, each since the hop before.
type latencies struct {
	hop   [hops][]time.Duration
	total []time.Duration
}

func (l *latencies) add(began time.Time, times map[string][hops]time.Time) {
	for _, passed := range times {
		before := began
		for hop, at := range passed {
			if at.IsZero() {
				continue
			}
			l.hop[hop] = append(l.hop[hop], max(0, at.Sub(before)))
			if at.After(before) {
				before = at
			}
		}
		l.total = append(l.total, passed[hopHub].Sub(began))
	}
}

// String returns a table of medians, 99th percentiles and maxima.
func (l *latencies) String() string {
	text := fmt.Sprintf("%-48s%10s%10s%10s\n", "from the commit, by hop", "p50", "p99", "max")
	for hop, name := range hopNames {
		text += line(name, l.hop[hop])
	}
	return text + line("in all", l.total)
}

func line(name string, took []time.Duration) string {
	return fmt.Sprintf("  %-46s%10s%10s%10s\n", name, quantile(took, 50), quantile(took, 99), quantile(took, 100))
}

func quantile(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)*percent+99)/100-1].Round(time.Millisecond)
}

// counts returns the number of requested refreshes, by hub Application.
func (r *recorder) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// generations returns the generations of the guestbook's ManifestWorks, by cluster.
func (r *recorder) generations(t *testing.T) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for _, c := range fleet.Managed {
		var list workv1.ManifestWorkList
		if err := fleet.Hub.Client.List(t.Context(), &list, client.InNamespace(c.Name)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].Annotations[contract.HubNameAnnotation] == application(c.Name) {
				found[c.Name] = list.Items[i].Generation
			}
		}
	}
	return found
}
