// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package viewer is the viewer of the hub: it finds which pulled Applications are open in
// argocd-server, asks their clusters for them, and writes what comes back to Argo CD's Redis.
package viewer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/view"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Options of a [Viewer].
type Options struct {
	// ArgoCDNamespace is Argo CD's namespace on the hub, Observer the observers' on managed
	// clusters.
	ArgoCDNamespace, Observer string
	// Keep is how long a view stays after it was last open.
	Keep time.Duration
	// MaxOpen is how many views there are at a time.
	MaxOpen int
	// Recheck is after how long an open Application, its work and its cluster are read again;
	// 0: ten seconds.
	Recheck time.Duration
}

// How often, and how many.
const (
	interval = 100 * time.Millisecond
	// parallel is how many views are worked on at a time.
	parallel = 16
	recheck  = 10 * time.Second
	// rewrite is after how long Redis is written again at most, so that nothing expires that is
	// open. After a change it is firstRewrite, then twice as long each time: a page that has a
	// tree shows none again when its own first request, which began before, fails later.
	rewrite      = time.Minute
	firstRewrite = time.Second
	// expiration is how long Redis keeps a view that no viewer takes back.
	expiration = 5 * time.Minute
)

// Viewer is one loop; all its memory is in open. What is done in parallel in it has an entry
// each.
type Viewer struct {
	Options
	// Client reads ManifestWorks with [request.Label] from a cache; Live reads nothing from one.
	Client client.Client
	Live   client.Reader
	Redis  *argoredis.Redis
	Log    logr.Logger

	open    map[string]*entry
	refused bool // that there are more open than MaxOpen was logged
}

// entry is one instance.
type entry struct {
	seen    time.Time // when it was last open
	checked time.Time // when target was last read
	target  *target   // nil: it is not pulled
	problem string    // what was last logged
	written [32]byte  // digest of the result and the note that Redis has
	at      time.Time // since when
	next    time.Duration
	status  string // the status that the hub Application has from here
}

// Caches returns what a Viewer's Client has to have in its cache.
func Caches() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&workv1.ManifestWork{}: {Label: labels.SelectorFromSet(labels.Set{request.Label: "true"})},
	}
}

// NeedLeaderElection is true: two viewers would take back each other's questions.
func (v *Viewer) NeedLeaderElection() bool { return true }

// Start works until ctx ends. What is open then stays for the next one, which takes it back
// when it is not open any more.
func (v *Viewer) Start(ctx context.Context) error {
	v.open = map[string]*entry{}
	v.Recheck = cmp.Or(v.Recheck, recheck)
	if err := v.resume(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failed := ""
	for {
		err := v.pass(ctx, time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != failed && err != nil {
			v.Log.Error(err, "cannot list the Applications that are open")
		}
		failed = text
	}
}

// resume continues with the works of a viewer that was stopped.
func (v *Viewer) resume(ctx context.Context) error {
	works := &workv1.ManifestWorkList{}
	if err := v.Client.List(ctx, works); err != nil {
		return fmt.Errorf("list the ManifestWorks of views: %w", err)
	}
	for i := range works.Items {
		w := &works.Items[i]
		instance := w.Annotations[request.InstanceAnnotation]
		if instance == "" || w.Name != request.Name(instance) {
			continue // an agent may write annotations of its works
		}
		e := &entry{seen: time.Now(), target: &target{cluster: w.Namespace, application: request.Application(w), work: true}}
		e.target.hub = v.hub(instance)
		v.open[instance] = e
	}
	return nil
}

// hub returns the key of the hub Application of an instance.
func (v *Viewer) hub(instance string) client.ObjectKey {
	namespace, name := view.Application(v.ArgoCDNamespace, instance)
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// pass looks once which Applications are open and does what is to be done for each.
func (v *Viewer) pass(ctx context.Context, now time.Time) error {
	watched, err := v.Redis.Watched(ctx)
	if err != nil {
		return err
	}
	for instance, version := range watched {
		e := v.open[instance]
		if e == nil && len(v.open) >= v.MaxOpen {
			if !v.refused {
				v.Log.Info("more Applications are open than --max-open: the others have no view", "max-open", v.MaxOpen, "instance", instance)
			}
			v.refused = true
			continue
		}
		if e == nil {
			e = &entry{}
			v.open[instance] = e
		}
		e.seen = now
		if version != view.CacheVersion {
			v.report(e, instance, fmt.Sprintf("the hub's argocd-server has cache version %q, %s is known: nothing is written; update liveview", version, view.CacheVersion))
		}
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	done := make(chan string, len(v.open))
	for instance, e := range v.open {
		group.Go(func() error {
			switch {
			case now.Sub(e.seen) < v.Keep && watched[instance] == view.CacheVersion:
				v.show(ctx, instance, e, now)
			case now.Sub(e.seen) >= v.Keep && v.takeBack(ctx, instance, e):
				done <- instance
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	close(done)
	for instance := range done {
		delete(v.open, instance)
		v.refused = false
	}
	return nil
}

// show has the view of an open Application in Redis, as far as it is known.
func (v *Viewer) show(ctx context.Context, instance string, e *entry, now time.Time) {
	if now.Sub(e.checked) >= v.Recheck {
		e.checked = now
		before := e.target
		next, problem := v.find(ctx, instance)
		if before != nil && (next == nil || next.cluster != before.cluster || next.application != before.application) {
			// It is delivered elsewhere, or not any more: what is shown is not its own.
			if !v.remove(ctx, instance, e) {
				e.checked = time.Time{}
				return
			}
			before = nil
		}
		if next != nil && before != nil {
			next.work = before.work
		}
		e.target = next
		v.report(e, instance, problem)
	}
	if e.target == nil {
		return
	}
	if err := v.update(ctx, instance, e, now); err != nil {
		v.report(e, instance, err.Error())
	}
}

// update asks for a view, or writes the one that has come.
func (v *Viewer) update(ctx context.Context, instance string, e *entry, now time.Time) error {
	work := &workv1.ManifestWork{}
	err := v.Client.Get(ctx, client.ObjectKey{Namespace: e.target.cluster, Name: request.Name(instance)}, work)
	if apierrors.IsNotFound(err) {
		if e.target.work && now.Sub(e.checked) < v.Recheck-interval {
			return nil // it was made, and the cache does not have it yet
		}
		e.target.work = true
		return v.create(ctx, instance, e.target)
	}
	if err != nil {
		return err
	}
	if work.DeletionTimestamp != nil {
		return nil // it is made again when it is gone
	}
	result := request.ResultOf(work)
	if result.View == "" {
		if result.Message != "" {
			return fmt.Errorf("%s: %s", e.target.cluster, result.Message)
		}
		return nil
	}
	if key := sha256.Sum256([]byte(result.View + "\n" + e.target.note)); key != e.written || now.Sub(e.at) >= e.next {
		decoded, err := view.Decode(result.View, e.target.note)
		if err != nil {
			return fmt.Errorf("the view of %s: %w", e.target.cluster, err)
		}
		if err := v.Redis.Write(ctx, instance, decoded, expiration); err != nil {
			return err
		}
		e.next = min(2*e.next, rewrite)
		if key != e.written {
			e.next = firstRewrite
		}
		e.written, e.at = key, now
		if err := v.patchStatus(ctx, e, string(decoded.Status)); err != nil {
			return err
		}
	}
	return nil
}

// create makes the ManifestWork of a view.
func (v *Viewer) create(ctx context.Context, instance string, t *target) error {
	work, err := request.Work(instance, t.cluster, t.application, v.Observer)
	if err != nil {
		return err
	}
	if err := v.Client.Create(ctx, work); err != nil && !apierrors.IsAlreadyExists(err) {
		t.work = false
		return fmt.Errorf("ask %s for %s: %w", t.cluster, t.application, err)
	}
	return nil
}

// takeBack ends a view that is not open any more, and reports whether it is done. The question to a cluster that is away
// stays, and with it the last result: it can be shown until the cluster is back.
func (v *Viewer) takeBack(ctx context.Context, instance string, e *entry) bool {
	if e.target != nil && e.target.work {
		if _, away, err := v.clusterNote(ctx, e.target.cluster); err != nil || away {
			e.written = [32]byte{} // Redis lets go of it by itself
			v.later(e)
			return false
		}
	}
	if !v.remove(ctx, instance, e) {
		v.later(e)
		return false
	}
	return true
}

// later has a view taken back at the next recheck.
func (v *Viewer) later(e *entry) { e.seen = e.seen.Add(v.Recheck) }

// remove takes a view out of Redis, the Application and the works. It reports whether all
// of it is done.
func (v *Viewer) remove(ctx context.Context, instance string, e *entry) bool {
	if e.target == nil {
		return true
	}
	err := v.Redis.Remove(ctx, instance)
	if err == nil && e.target.work {
		err = v.patchStatus(ctx, e, noStatus)
	}
	if err == nil && e.target.work {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: e.target.cluster, Name: request.Name(instance)}}
		err = client.IgnoreNotFound(v.Client.Delete(ctx, work))
	}
	if err != nil {
		v.report(e, instance, "take the view back: "+err.Error())
		return false
	}
	e.target, e.written = nil, [32]byte{}
	return true
}

// report logs what keeps a view from being shown, once.
func (v *Viewer) report(e *entry, instance, problem string) {
	if problem != "" && problem != e.problem {
		v.Log.Info("no view, or an incomplete one", "instance", instance, "reason", problem)
	}
	e.problem = problem
}
