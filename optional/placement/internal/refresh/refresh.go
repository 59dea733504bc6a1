// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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
	// quiet is how long decisions must stay as they are, and longest how long is waited for
	// that: OCM writes the decisions of a Placement one by one, and each of them first
	// without its clusters.
	quiet, longest = 100 * time.Millisecond, time.Second
	// pace is the time between two refreshes of ApplicationSets of which nothing is known.
	pace = 100 * time.Millisecond
)

// digest is of the decisions that an ApplicationSet's generators select. It never repeats:
// decisions that are again as they were may have been read in between.
type digest [sha256.Size]byte

// state is what is known of one ApplicationSet. Only the worker of that ApplicationSet reads
// or writes it.
type state struct {
	// refreshed is what the last refresh was asked for.
	refreshed digest
	// latest are the decisions as they were seen last, since when, and since when they
	// change.
	latest          digest
	since, changing time.Time
	pacedUntil      time.Time
	// known is whether a refresh was asked for, hasChanged whether the decisions have
	// changed since they were first seen.
	known, hasChanged, isChanging bool
}

// Reconciler refreshes ApplicationSets.
type Reconciler struct {
	client client.Client
	argocd []string
	now    func() time.Time

	mu     sync.Mutex
	states map[types.NamespacedName]*state
	next   time.Time // when the next unknown ApplicationSet is due
}

// Reconcile asks for a refresh of one ApplicationSet when its decisions are not those of the
// last one.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	set := &appset.ApplicationSet{}
	err := r.client.Get(ctx, request.NamespacedName, set)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get ApplicationSet %s: %w", request, err)
	}
	if len(set.Selectors) == 0 { // nor has one that is gone any
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	decisions, selected, err := r.decisionsOf(ctx, set)
	if err != nil {
		return ctrl.Result{}, err
	}
	s, now := r.stateOf(request.NamespacedName), r.now()
	if !selected {
		// Its generator fails without a decision: Applications stay, and so would the annotation.
		*s = state{known: true}
		return ctrl.Result{}, nil
	}
	if s.known && s.refreshed == decisions {
		return ctrl.Result{}, nil
	}
	if set.Refreshing() {
		s.isChanging = false
		return ctrl.Result{}, nil // its removal is an event
	}
	if wait := s.wait(decisions, now); wait > 0 {
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
	log.FromContext(ctx).V(1).Info("asked for a refresh")
	*s = state{known: true, refreshed: decisions}
	return ctrl.Result{}, nil
}

// refresh is refused when the ApplicationSet in the cache is not the latest: an annotation
// that is there, but not seen yet, may be that of a pass which has read the decisions before.
func (r *Reconciler) refresh(ctx context.Context, set *appset.ApplicationSet) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"annotations":{%q:"true"}}}`, set.ResourceVersion, appset.RefreshAnnotation)
	target := argocd.ApplicationSetMetadata()
	target.Namespace, target.Name = set.Namespace, set.Name
	return r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
}

// wait is how long decisions that have changed are to be waited for.
func (s *state) wait(decisions digest, now time.Time) time.Duration {
	if !s.isChanging {
		s.isChanging, s.changing, s.since, s.latest = true, now, now, decisions
	} else if s.latest != decisions {
		s.since, s.latest, s.hasChanged = now, decisions, true
	}
	return min(quiet-now.Sub(s.since), longest-now.Sub(s.changing))
}

// waitForTurn spreads ApplicationSets of which no refresh is known, which are all of them
// when the process starts: with a git generator each refresh is a request to its server. One
// whose decisions change meanwhile does not wait.
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

// decisionsOf returns a digest of the decisions that an ApplicationSet's generators select,
// with the cluster Secret of each cluster, and whether there is any decision at all.
func (r *Reconciler) decisionsOf(ctx context.Context, set *appset.ApplicationSet) (of digest, selected bool, err error) {
	var lines []string
	for _, namespace := range r.namespacesOf(set.Namespace) {
		decisions, registered, kinds := &clusterv1beta1.PlacementDecisionList{}, secrets(), &corev1.ConfigMapList{}
		for _, list := range []client.ObjectList{decisions, registered, kinds} {
			if err := r.client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
				return of, false, fmt.Errorf("list %T of namespace %s: %w", list, namespace, err)
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
				selected = true
				lines = append(lines, string(d.UID)+" "+d.ResourceVersion+"\n")
				for _, c := range d.Status.Decisions {
					lines = append(lines, c.ClusterName+" "+string(secretOf[contract.LabelValue(c.ClusterName)])+"\n")
				}
			}
		}
	}
	slices.Sort(lines)
	sum := sha256.New()
	for _, line := range slices.Compact(lines) {
		_, _ = sum.Write([]byte(line)) // a hash never fails
	}
	return digest(sum.Sum(nil)), selected, nil
}

// namespacesOf returns where the generators of an ApplicationSet read: always Argo CD's
// namespace. An ApplicationSet elsewhere may be that of each of them.
func (r *Reconciler) namespacesOf(namespace string) []string {
	if slices.Contains(r.argocd, namespace) {
		return []string{namespace}
	}
	return r.argocd
}

// selectsDecisions is whether a generator selects PlacementDecisions: another kind is not
// watched.
func selectsDecisions(s appset.Selector, kinds *corev1.ConfigMapList) bool {
	return slices.ContainsFunc(kinds.Items, func(c corev1.ConfigMap) bool {
		return (s.ConfigMap == "" || s.ConfigMap == c.Name) && isPlacementGenerator(&c)
	})
}
