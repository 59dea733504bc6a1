// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

const (
	// checkInterval is the longest time between two plans.
	checkInterval = 10 * time.Minute
	// Patience is how long the plan of an Argo CD may fail before that is reported.
	Patience = 2 * time.Minute
)

// MakePlan reads the objects for agents on the hub, and returns the task of each cluster for all specs.
// For each Argo CD it ensures the certificates that agents depend on. If an Argo CD cannot be read,
// MakePlan returns an error, and the plan records that nothing is known about this Argo CD. The plan is
// nil if the agents' objects cannot be read.
func (r *Reconciler) MakePlan(ctx context.Context, specs []Spec) (*Plan, error) {
	existing, err := r.present(ctx, specs)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(r.orphaned, func(name string, _ time.Time) bool { _, is := existing[name]; return !is })
	plan := &Plan{tasks: map[string]*task{}, statuses: map[types.NamespacedName]Status{}, open: map[string]bool{}, failures: map[string]error{}, After: checkInterval}
	assigned := assign(specs, existing)
	var failed error
	for _, namespace := range r.options.Namespaces {
		v := &view{namespace: namespace, assigned: assigned, existing: map[string]presence{}}
		for name, p := range existing {
			if p.namespace == namespace {
				v.existing[name] = p
			}
		}
		for _, a := range slices.SortedFunc(slices.Values(specs), older) {
			if a.ArgoNamespace == namespace {
				v.specs = append(v.specs, a)
			}
		}
		err := r.planArgoCD(ctx, v, plan)
		if r.fails(namespace, err) {
			plan.failures[namespace] = err
		}
		if err != nil {
			failed = errors.Join(failed, err)
			plan.open[namespace] = true
		}
	}
	return plan, failed
}

// fails records the result of an Argo CD's plan, and reports whether the plan has failed for a while.
func (r *Reconciler) fails(namespace string, err error) bool {
	if err == nil {
		delete(r.failing, namespace)
		return false
	}
	if r.failing[namespace].IsZero() {
		r.failing[namespace] = r.now()
	}
	return r.now().Sub(r.failing[namespace]) >= Patience
}

// planArgoCD adds the tasks and statuses of one Argo CD to a plan.
func (r *Reconciler) planArgoCD(ctx context.Context, v *view, plan *Plan) error {
	if err := r.find(ctx, v); err != nil {
		return err
	}
	r.orphans(v)
	tasks := map[string]*task{}
	state, reports, after, err := r.prepare(ctx, v, tasks)
	if err != nil {
		return err
	}
	certificates.MeasureAgents(v.namespace, v.renewal(reports))
	after = min(after, r.release(tasks, v))
	statuses, err := r.statusesOf(ctx, v, tasks, state)
	if err != nil {
		return err
	}
	maps.Copy(plan.tasks, tasks)
	maps.Copy(plan.statuses, statuses)
	plan.After = min(plan.After, after, cmp.Or(state.After, checkInterval))
	return nil
}

// prepare ensures the certificates for the agents of an Argo CD, and adds the task of each cluster to
// tasks. If no GitOpsCluster requests agents any more, it removes the certificates (see unused). after
// is the longest time until the next plan.
func (r *Reconciler) prepare(ctx context.Context, v *view, tasks map[string]*task) (state certificates.State, reports []pki.Report, after time.Duration, err error) {
	after = checkInterval
	if len(v.existing) > 0 || slices.ContainsFunc(v.specs, func(a Spec) bool { return a.Agent != nil }) {
		delete(r.without, v.namespace)
	}
	if slices.ContainsFunc(v.specs, func(a Spec) bool { return a.Agent != nil }) {
		if after, err = r.readApplications(ctx, v); err != nil {
			return state, nil, after, err
		}
		var secrets map[string]string
		if reports, secrets, err = r.reports.of(ctx, v); err != nil {
			return state, nil, after, err
		}
		if state, err = r.certificates(ctx, v, reports, secrets); err != nil {
			return state, nil, after, err
		}
		return state, reports, after, r.assign(tasks, v, state, reports)
	}
	dry := slices.ContainsFunc(v.specs, func(a Spec) bool { return a.DryRun })
	if len(v.existing) == 0 && !r.clean[v.namespace] && !dry {
		if wait := r.unused(v); wait > 0 {
			return state, nil, min(after, wait), nil
		}
		if err := remove(ctx, r.applications, r.keeper, v.namespace); err != nil {
			return state, nil, after, err
		}
		r.clean[v.namespace] = true
	}
	return state, nil, after, nil
}

// unused returns how much longer the certificates of an Argo CD without agents stay. The time is 0 while a
// GitOpsCluster is being deleted. Otherwise they stay for the grace period. A restored hub may get its
// GitOpsClusters and their agents after the certificates.
func (r *Reconciler) unused(v *view) time.Duration {
	if slices.ContainsFunc(v.specs, func(a Spec) bool { return a.Deleting }) {
		return 0
	}
	if r.without[v.namespace].IsZero() {
		r.without[v.namespace] = time.Now()
	}
	return r.options.Grace - time.Since(r.without[v.namespace])
}

// remove removes the objects that an Argo CD has because of agents.
func remove(ctx context.Context, a *applications.Reader, k *certificates.Keeper, namespace string) error {
	_, err := a.ReleaseDefault(ctx, namespace, false)
	if err != nil {
		return err
	}
	return k.Remove(ctx, namespace)
}

// find reads the address of the principal for each spec.
func (r *Reconciler) find(ctx context.Context, v *view) error {
	v.found, v.problems = map[types.NamespacedName]principal.Found{}, map[types.NamespacedName][]principal.Problem{}
	existing, err := r.reader.Read(ctx, v.namespace)
	if err != nil {
		return err
	}
	for _, a := range v.specs {
		if a.Agent != nil {
			w := principal.Requirements{Namespace: v.namespace, Address: a.Agent.Address, Field: a.Agent.Field, Mode: a.Agent.Mode, Service: a.Agent.Principal.Service, Deployment: a.Agent.Principal.Deployment, AllowedNamespaces: a.Agent.Settings.AllowedNamespaces, AgentImage: a.Agent.Principal.AgentImage, KeepAlive: a.Agent.KeepAlive}
			if a.Agent.Port != 0 {
				w.Port = strconv.Itoa(int(a.Agent.Port))
			}
			v.found[a.Owner], v.problems[a.Owner] = principal.Find(w, existing)
			if a.Owner.Namespace != v.namespace {
				w.Address = ""
				own, _ := principal.Find(w, existing)
				v.foundNames(a.Owner, own.Names)
			}
		}
	}
	v.checkAddresses()
	return nil
}

// certificates ensures the certificates of the principal and the resource proxy. They contain every
// name by which a GitOpsCluster addresses the principal.
func (r *Reconciler) certificates(ctx context.Context, v *view, reports []pki.Report, secrets map[string]string) (certificates.State, error) {
	w := certificates.Facts{Namespace: v.namespace, DryRun: true, Reports: reports, Secrets: secrets}
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
	r.clean[v.namespace] = r.clean[v.namespace] && w.DryRun
	return r.keeper.Ensure(ctx, w)
}

// assign decides which agent each cluster of this Argo CD gets.
func (r *Reconciler) assign(next map[string]*task, v *view, state certificates.State, reports []pki.Report) (err error) {
	atLeast, clusters := 0, 0
	for _, a := range v.deciding() {
		atLeast = max(atLeast, a.AtLeast)
	}
	for _, a := range v.specs {
		for _, name := range a.all() {
			if v.assigned[name] == a.Owner && name != v.namespace {
				clusters++
				if _, exists := v.existing[name]; !exists {
					reports = append(reports, pki.Report{Cluster: name})
				}
			}
		}
	}
	reports = slices.DeleteFunc(slices.Clone(reports), func(report pki.Report) bool {
		_, desired := v.assigned[report.Cluster]
		return !desired // no GitOpsCluster would change its agent
	})
	generations := pki.Generations(reports, state.SigningCA, state.TrustedCAs, atLeast, r.options.Limit.Of(clusters), time.Now())
	for _, a := range v.specs {
		for _, name := range a.all() {
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
	t := &task{namespace: v.namespace, owner: a.Owner, abandon: a.Abandon, desired: &agent.Desired{
		Cluster: name, Owner: a.Owner, ArgoNamespace: v.namespace, AgentNamespace: a.Agent.Namespace, Mode: a.Agent.Mode,
		Address: found.Address, Port: found.Port, Image: cmp.Or(a.Agent.Principal.AgentImage, found.Image), CABundle: state.CABundle, BundleDigest: state.BundleDigest,
		Generation: generation, Settings: a.Agent.Settings, KeepAlive: a.Agent.KeepAlive, Manifests: a.Agent.Manifests,
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

// orphans sets the grace of each agent without an existing GitOpsCluster.
func (r *Reconciler) orphans(v *view) {
	v.grace = map[string]time.Duration{}
	for name, p := range v.existing {
		_, desired := v.assigned[name]
		if desired || slices.ContainsFunc(v.specs, func(a Spec) bool { return a.Owner == p.owner }) {
			delete(r.orphaned, name)
			continue
		}
		if r.orphaned[name].IsZero() {
			r.orphaned[name] = time.Now()
		}
		v.grace[name] = r.options.Grace - time.Since(r.orphaned[name])
	}
}

// release adds a task to remove each agent that no GitOpsCluster requests any more. It returns the
// longest time until the next plan. If the GitOpsCluster of an agent does not exist, the oldest one in
// Argo CD's namespace decides.
func (r *Reconciler) release(tasks map[string]*task, v *view) (after time.Duration) {
	after = checkInterval
	for name, p := range v.existing {
		if _, desired := v.assigned[name]; desired {
			continue
		}
		t := &task{namespace: v.namespace, owner: p.owner, untouched: !v.leaving(name)}
		if wait := v.grace[name]; wait > 0 {
			after = min(after, wait)
		}
		i := slices.IndexFunc(v.specs, func(a Spec) bool { return a.Owner == p.owner })
		if i < 0 {
			i = slices.IndexFunc(v.specs, func(a Spec) bool { return a.Owner.Namespace == v.namespace && !a.DryRun })
		}
		if i >= 0 {
			t.owner, t.abandon = v.specs[i].Owner, v.specs[i].Abandon
		}
		if t.untouched || !p.ended(name, t.abandon) {
			tasks[name] = t
		}
	}
	return after
}
