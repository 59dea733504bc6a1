// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,namespace=argocd,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups="",namespace=argocd,resources=configmaps;secrets,verbs=list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

const (
	// quiet is how long decisions must not change before a refresh, and longest is the highest wait
	// for that. OCM writes the decisions of a Placement one by one, and each of them first without
	// its clusters.
	quiet, longest = 100 * time.Millisecond, 10 * time.Second
	// absence is how long a cluster must be in no decision before a refresh may remove its
	// Application. OCM sorts the clusters of a Placement into decisions of at most 100. If one
	// joins, the last cluster of each decision moves to the next. Until OCM has written that one,
	// the cluster is in no decision. Neither decisions nor the status of the Placement show whether
	// it comes back: OCM writes the status last, and only if it differs. OCM writes up to 50
	// decisions a second, so that absence also covers a slow API server.
	absence = 10 * time.Second
	// most limits how long clusters that leave one after the other delay a refresh. In the last ten
	// seconds the absence that is required becomes shorter, so that the refresh comes in the longest
	// pause between two of them. A Placement with one decision is no exception: with its 101st
	// cluster, or the first of a further decision group, OCM writes that decision before it creates
	// the second one.
	most = time.Minute
	// pace is the interval between refreshes of ApplicationSets without a digest.
	pace = 100 * time.Millisecond
)

// digest identifies the decisions that an ApplicationSet's generators select. It never repeats: if
// decisions change back, the controller may have read those in between.
type digest [sha256.Size]byte

// selection is the hash of a cluster in the decisions of a Placement. Other Placements may select
// the same cluster for other Applications. An ApplicationSet whose selector has a template selects
// every cluster of every Placement, so that names would take too much memory.
type selection uint64

var seed = maphash.MakeSeed()

func selectionOf(namespace, placement, cluster string) selection {
	return selection(maphash.Comparable(seed, [...]string{namespace, placement, cluster}))
}

// state is the memory of one ApplicationSet. Only the worker of that ApplicationSet reads or writes
// it.
type state struct {
	// refreshed identifies the decisions of the last refresh.
	refreshed digest
	// latest identifies the last observed decisions. The times are when they were first observed,
	// and when the changes began.
	latest          digest
	since, changing time.Time
	pacedUntil      time.Time
	// began is when the first decisions were observed, since the start or since none existed.
	began time.Time
	// known is true if a refresh was requested, and hasChanged if the decisions have changed since
	// they were first observed.
	known, hasChanged, isChanging bool
	// clusters may have an Application: they were in the decisions of the last refresh, or later.
	// absent has the clusters of them in no decision, and since when.
	clusters sets.Set[selection]
	absent   map[selection]time.Time
}

// Reconciler refreshes ApplicationSets.
type Reconciler struct {
	client  client.Client
	argocd  []string
	now     func() time.Time
	absence time.Duration

	mu     sync.Mutex
	states map[types.NamespacedName]*state
	next   time.Time // when the next ApplicationSet without a digest may be refreshed
}

// Reconcile requests a refresh of one ApplicationSet if its decisions differ from the decisions at
// the last refresh.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &appset.ApplicationSet{}
	err := r.client.Get(ctx, request.NamespacedName, set)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get ApplicationSet %s: %w", request, err)
	}
	if len(set.Selectors) == 0 { // a deleted ApplicationSet has none either
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	decisions, clusters, err := r.decisionsOf(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.now()
	s := r.stateOf(request.NamespacedName)
	if clusters == nil {
		// Without a decision its generator fails: Applications stay, and the annotation would stay
		// as well. The next decision is a first one.
		*s = state{clusters: s.clusters}
		return ctrl.Result{}, nil
	}
	s.observe(clusters, now)
	if s.known && s.refreshed == decisions || set.Refreshing() { // removal of the annotation causes an event
		s.isChanging = false
		return ctrl.Result{}, nil
	}
	if wait := max(s.wait(decisions, now), r.waitForAbsent(s, now)); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if wait := r.waitForTurn(s, now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	switch err := r.refresh(ctx, set); {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("refresh ApplicationSet %s: %w", request, err)
	}
	if absent := now.Sub(s.lastAbsent()); absent < r.absence {
		log.FromContext(ctx).Info("requested a refresh while clusters keep leaving the placement decisions", "lastLeft", absent)
	} else {
		log.FromContext(ctx).V(1).Info("asked for a refresh")
	}
	*s = state{known: true, refreshed: decisions, clusters: clusters, began: s.began}
	return ctrl.Result{}, nil
}

// refresh sets the annotation. The write conflicts if the ApplicationSet in the cache is not the
// latest version. The latest one may have an annotation from a pass that has read the earlier
// decisions.
func (r *Reconciler) refresh(ctx context.Context, set *appset.ApplicationSet) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{%q:"true"}}}`, set.ResourceVersion, appset.RefreshAnnotation)
	target := argocd.ApplicationSetMetadata()
	target.Namespace, target.Name = set.Namespace, set.Name
	return r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
}

// observe updates which clusters are in no decision any more.
func (s *state) observe(clusters sets.Set[selection], now time.Time) {
	if s.began.IsZero() {
		s.began = now
	}
	absent := map[selection]time.Time{}
	for cluster := range s.clusters.Difference(clusters) {
		since, known := s.absent[cluster]
		if !known {
			since = now
		}
		absent[cluster] = since
	}
	s.absent, s.clusters = absent, s.clusters.Union(clusters)
}

// waitForAbsent returns how long to wait until no cluster is absent only because OCM rewrites the
// decisions.
func (r *Reconciler) waitForAbsent(s *state, now time.Time) time.Duration {
	absent := now.Sub(s.lastAbsent())
	// Each second without another absent cluster adds one to absent, and takes one from what is left
	// of most.
	return min(r.absence-absent, (most-now.Sub(s.changing)-absent)/2)
}

// lastAbsent returns since when the last absent cluster is absent. Which clusters were in decisions
// before the first ones is unknown, so that any may be absent then.
func (s *state) lastAbsent() time.Time {
	last := s.began
	for _, since := range s.absent {
		if since.After(last) {
			last = since
		}
	}
	return last
}

// wait returns how long to wait for further changes of the decisions.
func (s *state) wait(decisions digest, now time.Time) time.Duration {
	if !s.isChanging {
		s.isChanging, s.changing, s.since, s.latest = true, now, now, decisions
	} else if s.latest != decisions {
		if now.Sub(s.since) > longest {
			s.changing = now // before, the ApplicationSet waited only for its turn
		}
		s.since, s.latest, s.hasChanged = now, decisions, true
	}
	return min(quiet-now.Sub(s.since), longest-now.Sub(s.changing))
}

// waitForTurn delays ApplicationSets without a digest. After a start these are all of them, and
// with a git generator each refresh is a request to the git server. An ApplicationSet does not wait
// if its decisions change meanwhile.
func (r *Reconciler) waitForTurn(s *state, now time.Time) time.Duration {
	if s.known || s.hasChanged {
		return 0
	}
	if s.pacedUntil.IsZero() {
		r.mu.Lock()
		s.pacedUntil = now
		if r.next.After(now) {
			s.pacedUntil = r.next
		}
		r.next = s.pacedUntil.Add(pace)
		r.mu.Unlock()
	}
	return s.pacedUntil.Sub(now)
}

func (r *Reconciler) stateOf(name types.NamespacedName) *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[name]
	if s == nil {
		s = &state{}
		r.states[name] = s
	}
	return s
}

func (r *Reconciler) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, name)
}

// decisionsOf returns the digest of the decisions that an ApplicationSet's generators select, and
// their clusters. The digest includes the cluster Secret of each cluster. clusters is nil if no
// decision exists.
func (r *Reconciler) decisionsOf(ctx context.Context, set *appset.ApplicationSet) (of digest, clusters sets.Set[selection], err error) {
	var lines []string
	for _, namespace := range r.namespacesOf(set.Namespace) {
		decisions, registered, kinds := &clusterv1beta1.PlacementDecisionList{}, secrets(), &corev1.ConfigMapList{}
		for _, list := range []client.ObjectList{decisions, registered, kinds} {
			if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
				return of, nil, fmt.Errorf("list %T of namespace %s: %w", list, namespace, err)
			}
		}
		secretOf := make(map[string]types.UID, len(registered.Items))
		for i := range registered.Items {
			secretOf[registered.Items[i].Labels[contract.RegisteredNameLabel]] = registered.Items[i].UID
		}
		for _, s := range set.Selectors {
			if !selectsDecisions(s, kinds) {
				continue
			}
			for i := range decisions.Items {
				d := &decisions.Items[i]
				if !s.Matches(d.Name, d.Labels) {
					continue
				}
				if clusters == nil {
					clusters = sets.Set[selection]{}
				}
				lines = append(lines, string(d.UID)+" "+d.ResourceVersion+"\n")
				for _, c := range d.Status.Decisions {
					clusters.Insert(selectionOf(namespace, d.Labels[clusterv1beta1.PlacementLabel], c.ClusterName))
					lines = append(lines, c.ClusterName+" "+string(secretOf[contract.LabelValue(c.ClusterName)])+"\n")
				}
			}
		}
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, line := range slices.Compact(lines) {
		_, _ = sum.Write([]byte(line)) // writing to a hash returns no error
	}
	return digest(sum.Sum(nil)), clusters, nil
}

// namespacesOf returns the namespaces that the generators of an ApplicationSet read: always Argo
// CD's namespace. An ApplicationSet in another namespace may belong to any Argo CD.
func (r *Reconciler) namespacesOf(namespace string) []string {
	if slices.Contains(r.argocd, namespace) {
		return []string{namespace}
	}
	return r.argocd
}

// selectsDecisions reports whether a generator selects PlacementDecisions. Other kinds are not
// watched.
func selectsDecisions(s appset.Selector, kinds *corev1.ConfigMapList) bool {
	return slices.ContainsFunc(kinds.Items, func(c corev1.ConfigMap) bool {
		return (s.ConfigMap == "" || s.ConfigMap == c.Name) && isPlacementGenerator(&c)
	})
}
