// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

// nextLook is the longest time until an Argo CD is checked again.
const nextLook = 10 * time.Minute

// reconcileArgoCD reconciles an Argo CD as a whole and decides what is to be done about each cluster.
func (r *Reconciler) reconcileArgoCD(ctx context.Context, namespace string) (ctrl.Result, error) {
	if !slices.Contains(r.options.Namespaces, namespace) {
		return ctrl.Result{}, nil // a GitOpsCluster may name any
	}
	v, err := r.view(ctx, namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := map[string]*task{}
	state, reports, look, err := r.prepare(ctx, v, next)
	if err != nil {
		return ctrl.Result{}, err
	}
	certificates.MeasureAgents(namespace, v.renewal(reports))
	look = min(look, r.release(next, v))
	changed, reshaped := r.store.setTasks(v, next)
	for _, name := range changed {
		r.queue.Add(cluster(name))
	}
	if r.options.Reshaped != nil && len(reshaped) > 0 {
		r.options.Reshaped(reshaped...)
	}
	statuses, err := r.statusesOf(ctx, v, state)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.store.setStatuses(v, statuses) && r.options.Changed != nil {
		r.options.Changed(v.namespace)
	}
	return ctrl.Result{RequeueAfter: min(state.NextLook, look)}, nil
}

// prepare reads and creates what the agents of an Argo CD need, and adds a task for each cluster to
// next. If no GitOpsCluster asks for agents any more, it removes what was created for them. look is
// the delay until the next call.
func (r *Reconciler) prepare(ctx context.Context, v *view, next map[string]*task) (state certificates.State, reports []pki.Report, look time.Duration, err error) {
	look = nextLook
	if slices.ContainsFunc(v.specs, func(a Spec) bool { return a.Agent != nil }) {
		if look, err = r.readApplications(ctx, v); err != nil {
			return state, nil, look, err
		}
		var unknown []string
		if reports, unknown, err = r.reports.of(ctx, v); err != nil {
			return state, nil, look, err
		}
		if state, err = r.certificates(ctx, v, reports, unknown); err != nil {
			return state, nil, look, err
		}
		return state, reports, look, r.assign(next, v, state, reports)
	}
	dry := slices.ContainsFunc(v.specs, func(a Spec) bool { return a.DryRun })
	if v.settled && len(v.there) == 0 && r.store.mayHaveCertificates(v.namespace) && !dry {
		if err := remove(ctx, r.applications, r.keeper, v.namespace); err != nil {
			return state, nil, look, err
		}
		r.store.setCertificates(v.namespace, false)
	}
	return state, nil, look, nil
}

// remove removes what an Argo CD has because of agents.
func remove(ctx context.Context, a *applications.Reader, k *certificates.Keeper, namespace string) error {
	_, err := a.ReleaseDefault(ctx, namespace, false)
	if err != nil {
		return err
	}
	return k.Remove(ctx, namespace)
}

// view reads what is there.
func (r *Reconciler) view(ctx context.Context, namespace string) (*view, error) {
	there, err := r.present(ctx, namespace)
	if err != nil {
		return nil, err
	}
	v := r.store.snapshot(namespace)
	v.keepOwners(there)
	v.there, v.found, v.problems = there, map[types.NamespacedName]principal.Found{}, map[types.NamespacedName][]principal.Problem{}
	seen, err := r.reader.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, a := range v.specs {
		if a.Agent != nil {
			w := principal.Wanted{Namespace: namespace, Address: a.Agent.Address, Field: a.Agent.Field, Mode: a.Agent.Mode, Service: a.Agent.Principal.Service, Deployment: a.Agent.Principal.Deployment, AllowedNamespaces: a.Agent.Settings.AllowedNamespaces, AgentImage: a.Agent.Principal.AgentImage}
			if a.Agent.Settings.KeepAlive != nil {
				w.KeepAlive = a.Agent.Settings.KeepAlive.Duration
			}
			if a.Agent.Port != 0 {
				w.Port = strconv.Itoa(int(a.Agent.Port))
			}
			v.found[a.Owner], v.problems[a.Owner] = principal.Find(w, seen)
			if a.Owner.Namespace != namespace {
				w.Address = ""
				own, _ := principal.Find(w, seen)
				v.foundNames(a.Owner, own.Names)
			}
		}
	}
	v.checkAddresses()
	return v, nil
}

// certificates ensures the certificates of principal and resource proxy, for all names by which any
// GitOpsCluster makes the principal reachable.
func (r *Reconciler) certificates(ctx context.Context, v *view, reports []pki.Report, unknown []string) (certificates.State, error) {
	w := certificates.Wanted{Namespace: v.namespace, DryRun: true, Reports: reports, Unknown: unknown, Incomplete: len(unknown) > 0 || !v.settled}
	for _, a := range slices.Backward(v.deciding()) {
		found, names := v.found[a.Owner], w.Principal.Names
		w.Principal = found
		w.Principal.Names = slices.Compact(slices.Sorted(slices.Values(append(names, found.Names...))))
		w.KeepPrincipalRunning = w.KeepPrincipalRunning || !a.Agent.RestartPrincipal
		w.DryRun = w.DryRun && a.DryRun
		if a.RotateCA != "" && !slices.Contains(w.RotateCA, a.RotateCA) {
			w.RotateCA = append(w.RotateCA, a.RotateCA)
		}
	}
	slices.Sort(w.RotateCA)
	if !w.DryRun {
		r.store.setCertificates(v.namespace, true)
	}
	return r.keeper.Ensure(ctx, w)
}

// assign decides which agent each cluster of this Argo CD gets.
func (r *Reconciler) assign(next map[string]*task, v *view, state certificates.State, reports []pki.Report) (err error) {
	atLeast, clusters := 0, 0
	for _, a := range v.deciding() {
		atLeast = max(atLeast, a.AtLeast)
	}
	for _, a := range v.specs {
		for _, name := range a.Clusters {
			if v.assigned[name] == a.Owner && name != v.namespace {
				clusters++
				if _, there := v.there[name]; !there {
					reports = append(reports, pki.Report{Cluster: name})
				}
			}
		}
	}
	generations := pki.Generations(reports, state.SigningCA, state.TrustedCAs, atLeast, r.options.Limit.Of(clusters), time.Now())
	for _, a := range v.specs {
		for _, name := range a.Clusters {
			if v.assigned[name] != a.Owner || name == v.namespace {
				continue
			}
			if next[name], err = newTask(v, a, state, name, generations[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func newTask(v *view, a Spec, state certificates.State, name string, generation int) (*task, error) {
	found := v.found[a.Owner]
	t := &task{namespace: v.namespace, owner: a.Owner, abandon: a.Abandon, wanted: &agent.Wanted{
		Cluster: name, Owner: a.Owner, ArgoNamespace: v.namespace, AgentNamespace: a.Agent.Namespace, Mode: a.Agent.Mode,
		Address: found.Address, Port: found.Port, Image: cmp.Or(a.Agent.Principal.AgentImage, found.Image), CABundle: state.CABundle, BundleDigest: state.BundleDigest,
		Generation: generation, Settings: a.Agent.Settings, Manifests: a.Agent.Manifests,
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

// release removes the agent where no GitOpsCluster asks for it any more, and returns the delay
// until the next call. A GitOpsCluster with a dry run, or one that was not reconciled yet, keeps
// it. If the GitOpsCluster of an agent does not exist, the agent stays for the grace period,
// because a restored hub may get it late. Then the oldest GitOpsCluster in Argo CD's namespace
// decides.
func (r *Reconciler) release(next map[string]*task, v *view) (look time.Duration) {
	look = nextLook
	for name, p := range v.there {
		if _, wanted := v.assigned[name]; wanted {
			r.orphaned.Delete(name)
			continue
		}
		t := &task{namespace: v.namespace, owner: p.owner, untouched: !v.leaving(name)}
		i := slices.IndexFunc(v.specs, func(a Spec) bool { return a.Owner == p.owner })
		if i < 0 && v.settled {
			since, _ := r.orphaned.LoadOrStore(name, time.Now())
			began, _ := since.(time.Time)
			if wait := r.options.Grace - time.Since(began); wait > 0 {
				t.untouched, look = true, min(look, wait)
			}
			i = slices.IndexFunc(v.specs, func(a Spec) bool { return a.Owner.Namespace == v.namespace && !a.DryRun })
		}
		if i >= 0 {
			t.owner, t.abandon = v.specs[i].Owner, v.specs[i].Abandon
		}
		next[name] = t
	}
	return look
}
