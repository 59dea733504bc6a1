// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Reconcile works off an Argo CD or a cluster.
func (h *Hub) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	if request.Name != "" {
		result, err = h.workOff(ctx, request.Name)
	} else {
		result, err = h.survey(ctx, request.Namespace)
	}
	// A Secret that is there by now is seen by the next survey. What is in the way on a
	// cluster may be another client's and stay: that is an error, with growing pauses.
	if apierrors.IsConflict(err) || request.Name == "" && apierrors.IsAlreadyExists(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("another client wrote the object first; trying again", "cause", err.Error())
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return result, err
}

// view is what is known of an Argo CD at the beginning of a pass.
type view struct {
	namespace string
	// asks are those for this Argo CD, the oldest first; assigned says, for all Argo CDs,
	// whose a cluster's agent is.
	asks     []Ask
	assigned map[string]types.NamespacedName
	settled  bool
	// others: there may be asks for this Argo CD that are not among these.
	others   bool
	states   map[string]agent.State
	tasks    map[string]*task
	there    map[string]presence
	found    map[types.NamespacedName]principal.Found
	problems map[types.NamespacedName][]principal.Problem
}

// survey looks at an Argo CD as a whole and says what is to be done about each cluster.
func (h *Hub) survey(ctx context.Context, namespace string) (ctrl.Result, error) {
	if !slices.Contains(h.options.Namespaces, namespace) {
		return ctrl.Result{}, nil // a GitOpsCluster may name any
	}
	v, err := h.view(ctx, namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	asking := slices.ContainsFunc(v.asks, func(a Ask) bool { return a.Agent != nil })
	var state certificates.State
	var reports []pki.Report
	next := map[string]*task{}
	switch {
	case asking:
		var incomplete bool
		if reports, incomplete, err = h.reports(ctx, v); err != nil {
			return ctrl.Result{}, err
		}
		if state, err = h.certificates(ctx, v, reports, incomplete); err != nil {
			return ctrl.Result{}, err
		}
		if err := h.assign(next, v, state, reports); err != nil {
			return ctrl.Result{}, err
		}
	case v.settled && len(v.there) == 0 && h.mayHave(namespace) && !slices.ContainsFunc(v.asks, func(a Ask) bool { return a.DryRun }):
		if err := h.keeper.Remove(ctx, namespace); err != nil {
			return ctrl.Result{}, err
		}
		h.setKept(namespace, false)
	}
	certificates.MeasureAgents(namespace, v.renewal(reports))
	h.release(next, v)
	h.take(ctx, v, next)
	answers, err := h.answer(ctx, v, state)
	if err != nil {
		return ctrl.Result{}, err
	}
	h.tell(v, answers)
	return ctrl.Result{RequeueAfter: state.NextLook}, nil
}

// renewal returns until when the first client certificate has to be renewed, zero for none.
// A cluster that is away renews its own when it is back, and one that is leaving does not.
func (v *view) renewal(reports []pki.Report) (first time.Time) {
	for _, r := range reports {
		if _, wanted := v.assigned[r.Cluster]; !wanted || !r.Reachable || len(r.Issued) == 0 {
			continue
		}
		newest := r.Issued[len(r.Issued)-1]
		if d := pki.RenewalDeadline(newest.At, newest.Expires); first.IsZero() || d.Before(first) {
			first = d
		}
	}
	return first
}

// view reads what is there.
func (h *Hub) view(ctx context.Context, namespace string) (*view, error) {
	there, err := h.present(ctx, namespace)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	v := &view{
		namespace: namespace, asks: h.of(namespace), settled: h.settled(), states: maps.Clone(h.states), tasks: maps.Clone(h.tasks), there: there,
		assigned: map[string]types.NamespacedName{}, found: map[types.NamespacedName]principal.Found{}, problems: map[types.NamespacedName][]principal.Problem{},
	}
	for _, a := range slices.SortedFunc(maps.Values(h.asks), older) {
		for _, name := range a.Clusters {
			if _, taken := v.assigned[name]; !taken && a.Agent != nil {
				v.assigned[name] = a.Owner
			}
		}
	}
	h.mu.Unlock()
	seen, err := h.reader.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, a := range v.asks {
		if a.Agent != nil {
			w := principal.Wanted{Namespace: namespace, Address: a.Agent.Address, Field: a.Agent.Field, Mode: a.Agent.Mode}
			if a.Agent.Port != 0 {
				w.Port = strconv.Itoa(int(a.Agent.Port))
			}
			v.found[a.Owner], v.problems[a.Owner] = principal.Find(w, seen)
		}
	}
	return v, nil
}

// deciding returns the asks that say what the agents of an Argo CD share, its certificates
// and their generation: those for agents, and of these no dry run unless all are.
func (v *view) deciding() []Ask {
	with := slices.DeleteFunc(slices.Clone(v.asks), func(a Ask) bool { return a.Agent == nil })
	if live := slices.DeleteFunc(slices.Clone(with), func(a Ask) bool { return a.DryRun }); len(live) > 0 {
		return live
	}
	return with
}

// certificates ensures those of principal and resource proxy, for all names that any
// GitOpsCluster has the principal reached by.
func (h *Hub) certificates(ctx context.Context, v *view, reports []pki.Report, incomplete bool) (certificates.State, error) {
	w := certificates.Wanted{Namespace: v.namespace, DryRun: true, Reports: reports, Incomplete: incomplete}
	for _, a := range slices.Backward(v.deciding()) {
		found, names := v.found[a.Owner], w.Principal.Names
		w.Principal = found
		w.Principal.Names = slices.Compact(slices.Sorted(slices.Values(append(names, found.Names...))))
		w.KeepPrincipalRunning = w.KeepPrincipalRunning || !a.Agent.RestartPrincipal
		w.DryRun = w.DryRun && a.DryRun
		if a.RotateCA != "" {
			w.RotateCA = a.RotateCA
		}
	}
	if !w.DryRun {
		h.setKept(v.namespace, true)
	}
	return h.keeper.Ensure(ctx, w)
}

// reports tells what each cluster runs with; incomplete: not of all of them it is known.
func (h *Hub) reports(ctx context.Context, v *view) (reports []pki.Report, incomplete bool, err error) {
	for name, p := range v.there {
		state, known := v.states[name]
		t := v.tasks[name]
		incomplete = incomplete || !known && p.addOn != nil
		r := pki.Report{
			Cluster: name, Reachable: p.available, Connected: state.Connected, Bundle: state.Bundle, Generation: state.Generation,
			Issued: p.issued(), SecretCurrent: h.options.SecretDigest == nil,
		}
		if r.Generation == 0 {
			r.Generation = p.generation()
		}
		if state.Certificate != nil {
			r.Holds = state.Certificate.Fingerprint
		}
		if !r.SecretCurrent && t != nil && t.digest != "" {
			r.SecretCurrent = strings.TrimPrefix(h.options.SecretDigest(v.namespace, name), "sha256:") == t.digest
		}
		if r.Stuck, err = h.stuck(ctx, name, r.Generation); err != nil {
			return nil, true, err
		}
		reports = append(reports, r)
	}
	slices.SortFunc(reports, func(a, b pki.Report) int { return strings.Compare(a.Cluster, b.Cluster) })
	return reports, incomplete || !v.settled, nil
}

// assign says which agent each cluster gets that asks of this Argo CD are assigned.
func (h *Hub) assign(next map[string]*task, v *view, state certificates.State, reports []pki.Report) (err error) {
	atLeast, clusters := 0, 0
	for _, a := range v.deciding() {
		atLeast = max(atLeast, a.AtLeast)
	}
	for _, a := range v.asks {
		for _, name := range a.Clusters {
			if v.assigned[name] == a.Owner {
				clusters++
				if _, there := v.there[name]; !there {
					reports = append(reports, pki.Report{Cluster: name})
				}
			}
		}
	}
	generations := pki.Generations(reports, state.SigningCA, atLeast, h.options.Limit.Of(clusters), time.Now())
	for _, a := range v.asks {
		for _, name := range a.Clusters {
			if v.assigned[name] != a.Owner {
				continue
			}
			if next[name], err = newTask(v, a, state, name, generations[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func newTask(v *view, a Ask, state certificates.State, name string, generation int) (*task, error) {
	found := v.found[a.Owner]
	t := &task{namespace: v.namespace, owner: a.Owner, abandon: a.Abandon, wanted: &agent.Wanted{
		Cluster: name, Owner: a.Owner, ArgoNamespace: v.namespace, AgentNamespace: a.Agent.Namespace, Mode: a.Agent.Mode,
		Address: found.Address, Port: found.Port, Image: found.Image, CABundle: state.CABundle, BundleDigest: state.BundleDigest,
		Generation: generation, LiveView: a.Agent.LiveView, Manifests: a.Agent.Manifests,
	}}
	t.untouched = found.Address == "" || len(state.CABundle) == 0
	t.dry = a.DryRun && !t.untouched
	t.untouched = t.untouched || t.dry
	if state.SigningReady {
		digest, err := state.ProxyDigest(name)
		if err != nil {
			return nil, err
		}
		t.server, t.config, t.digest = found.ProxyServer(v.namespace, name), state.ProxyConfig, digest
	}
	return t, nil
}

// release has the agent leave where nobody asks for it any more. Who has it in a dry run,
// and who has not been heard, keeps it.
func (h *Hub) release(next map[string]*task, v *view) {
	for name, p := range v.there {
		if _, wanted := v.assigned[name]; wanted {
			continue
		}
		i := slices.IndexFunc(v.asks, func(a Ask) bool { return a.Owner == p.owner })
		t := &task{namespace: v.namespace, owner: p.owner, untouched: !v.settled}
		if i >= 0 {
			t.abandon, t.untouched = v.asks[i].Abandon, t.untouched || v.asks[i].DryRun
		}
		next[name] = t
	}
}

// take makes tasks those of this Argo CD, and has worked off what has changed.
func (h *Hub) take(ctx context.Context, v *view, next map[string]*task) {
	var changed []string
	var reshaped []string
	h.mu.Lock()
	for name, t := range h.tasks {
		if t.namespace == v.namespace && next[name] == nil && v.assigned[name] == (types.NamespacedName{}) {
			delete(h.tasks, name)
			delete(h.states, name)
			delete(h.leaving, name)
			reshaped = append(reshaped, name)
		}
	}
	for name, t := range next {
		before := h.tasks[name]
		h.tasks[name] = t
		if before == nil || !sameTask(before, t) {
			changed = append(changed, name)
		}
		if before == nil || before.server != t.server || before.digest != t.digest || before.untouched != t.untouched || (before.wanted == nil) != (t.wanted == nil) {
			reshaped = append(reshaped, name)
		}
	}
	h.mu.Unlock()
	for _, name := range slices.Sorted(slices.Values(changed)) {
		h.look(ctx, cluster(name))
	}
	if h.options.Reshaped != nil && len(reshaped) > 0 {
		h.options.Reshaped(reshaped...)
	}
}
