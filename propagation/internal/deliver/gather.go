// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// gatherer reads what a decision rests on: Application, works, cluster, binding, project and
// the annotations of those who may delay.
type gatherer struct {
	// client reads from the cache and writes; live reads from the API server, for
	// everything that a deletion rests on.
	client  client.Client
	live    client.Reader
	index   *manifestcache.Index
	options Options
	now     func() time.Time
	// budget limits how many works are withdrawn at a time, and keeps the annotations of
	// ApplicationSets that are gone.
	budget *budget.Budget
}

// liveWork returns a work from the API server, nil when there positively is none.
func (f *gatherer) liveWork(ctx context.Context, key client.ObjectKey) (*workv1.ManifestWork, error) {
	work := &workv1.ManifestWork{}
	err := f.live.Get(ctx, key, work)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s: %w", key, err)
	}
	return work, nil
}

// readAgents notes which agents an Application has to do with.
func (f *gatherer) readAgents(ctx context.Context, from inputReader, w *policy.Inputs) (err error) {
	if len(f.options.AgentNamespaces) == 0 {
		return nil
	}
	if w.HasAgent, err = f.hasAgent(ctx, from, w.Application.Annotations[contract.ClusterAnnotation]); err != nil {
		return err
	}
	name := payload.HubDestination(w.Application)
	if w.Application.Labels[argocd.IgnoreSyncLabel] == "true" {
		return nil
	}
	there, err := f.hasAgent(ctx, from, name)
	if there {
		w.ByAgent = name
	}
	return err
}

// hasAgent reports whether there is an agent of that name.
func (f *gatherer) hasAgent(ctx context.Context, from inputReader, name string) (bool, error) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return false, nil
	}
	for _, namespace := range f.options.AgentNamespaces {
		n, err := agentSecrets(ctx, from, namespace, name)
		if err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

// deletionPolicy returns what an Application, which is nil when it is gone, or else its
// ApplicationSet says about the end of its delivery.
func (f *gatherer) deletionPolicy(ctx context.Context, app *argocd.Application, g guard.Group) (own policy.DeletionPolicy, err error) {
	if app != nil {
		own = policy.ParseDeletionPolicy(app.Annotations[contract.DeletionPolicyAnnotation], "Application "+app.Namespace+"/"+app.Name, false)
	}
	if own.Word != "" || own.Problem != "" || g.Set == "" {
		return own, nil
	}
	set := argocd.ApplicationSetMetadata()
	if err := f.decisionObject(ctx, set, client.ObjectKey{Namespace: g.Namespace, Name: g.Set}); err != nil {
		return own, err
	}
	if set.UID == "" { // its Applications are about to go with it
		own.AsBefore = true
		return own, nil
	}
	p := policy.ParseDeletionPolicy(set.Annotations[contract.DeletionPolicyAnnotation], argocd.ApplicationSetKind+" "+g.Namespace+"/"+g.Set, true)
	p.Abandon = own.Abandon
	return p, nil
}

// stays reports whether what a work delivers is to stay when it is withdrawn; app is nil
// when it is gone.
func (f *gatherer) stays(ctx context.Context, app *argocd.Application, work *manifestcache.Work) (bool, error) {
	if work.Annotations[contract.ObservedAnnotation] != "" {
		return true, nil
	}
	wish, err := f.deletionPolicy(ctx, app, budget.GroupOf(work))
	return wish.Problem == "" && cmp.Or(wish.Word, work.Annotations[contract.OnWithdrawAnnotation]) == payload.DeletionOrphan, err
}

// decisionOn returns what operators have decided about a group.
func (f *gatherer) decisionOn(ctx context.Context, g guard.Group, revocation bool) (guard.Decision, error) {
	return f.budget.Decision(ctx, g, revocation)
}

// wordsOfSet returns the annotations of an ApplicationSet. When it is gone they are those
// that outlive it, unless an administrator has approved that its deliveries go.
func (f *gatherer) wordsOfSet(ctx context.Context, namespace, set string) (annotations map[string]string, gone bool, err error) {
	annotations, gone, err = f.budget.SetAnnotations(ctx, namespace, set)
	if err != nil || !gone || len(annotations) == 0 {
		return annotations, gone, err
	}
	d, err := f.decisionOn(ctx, guard.Group{Namespace: namespace}, false)
	if d.Word == guard.Approve {
		annotations = nil
	}
	return annotations, gone, err
}

// decisionObject reads an ApplicationSet or Namespace from the cache; one that is not
// there stays empty.
func (f *gatherer) decisionObject(ctx context.Context, o *metav1.PartialObjectMetadata, key client.ObjectKey) error {
	err := f.client.Get(ctx, key, o, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s %s: %w", o.Kind, key, err)
	}
	return nil
}

// storedWork returns a cached work with its spec, which the cache does not keep, as it
// was when it was cached.
func (f *gatherer) storedWork(ctx context.Context, cached *manifestcache.Work) (*workv1.ManifestWork, error) {
	stored := &workv1.ManifestWork{}
	err := f.live.Get(ctx, client.ObjectKeyFromObject(cached), stored)
	if apierrors.IsNotFound(err) || err == nil && stored.ResourceVersion != cached.ResourceVersion {
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), cached.Name, err) // the cache is behind
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s/%s: %w", cached.Namespace, cached.Name, err)
	}
	return stored, nil
}

func (f *gatherer) relation(ctx context.Context, app *argocd.Application, work *manifestcache.Work) (relation, error) {
	if payload.IsOwnWork(app, work) {
		return own, nil
	}
	if payload.Delivers(app, work) {
		return adoptable, nil
	}
	owner, err := f.ownerByName(ctx, work)
	if err != nil || owner {
		return ownedByOther, err
	}
	return leftover, nil
}

// ownerByName reports whether a work's name is that of a pulled Application which is
// to be on the work's cluster: that one repairs what was changed on it.
func (f *gatherer) ownerByName(ctx context.Context, work *manifestcache.Work) (bool, error) {
	var list argocd.ApplicationList
	err := f.client.List(ctx, &list, client.MatchingFields{applicationsByCluster: work.Namespace}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list Applications of cluster %s: %w", work.Namespace, err)
	}
	for i := range list.Items {
		if contract.IsPulled(list.Items[i].Labels) && slices.Contains(payload.WorkNames(&list.Items[i]), work.Name) {
			return true, nil
		}
	}
	return false, nil
}

// copiesOf sorts the works that name an Application; [payload.CurrentWork] says which
// of several on the target is the current one.
func (f *gatherer) copiesOf(ctx context.Context, app *argocd.Application, works []*manifestcache.Work) (copies, error) {
	var c copies
	staying := make([]*manifestcache.Work, 0, len(works))
	for _, work := range works {
		if work.DeletionTimestamp == nil {
			staying = append(staying, work)
		}
	}
	c.current = payload.CurrentWork(app, staying)
	for _, work := range works {
		is, err := f.relation(ctx, app, work)
		if err != nil {
			return c, err
		}
		if is == ownedByOther {
			continue
		}
		c.all = append(c.all, work)
		if is != leftover {
			c.proven = append(c.proven, work)
		}
		switch {
		case work.Namespace != app.Annotations[contract.ClusterAnnotation]:
			c.elsewhere = append(c.elsewhere, work)
		case !payload.IsCurrent(app, work):
			c.former = append(c.former, work)
		case work.DeletionTimestamp != nil:
			c.terminating = work
		case work != c.current:
			c.surplus = append(c.surplus, work)
		}
	}
	return c, nil
}

// unowned returns the works that no living Application has by its name: the works
// of an Application that is gone.
func (f *gatherer) unowned(ctx context.Context, works []*manifestcache.Work) ([]*manifestcache.Work, error) {
	var list []*manifestcache.Work
	for _, work := range works {
		owned, err := f.ownerByName(ctx, work)
		if err != nil {
			return nil, err
		}
		if !owned {
			list = append(list, work)
		}
	}
	return list, nil
}

// pauseOn returns what pauses an act on the ManifestWorks of an Application, which is nil
// when it is gone, on a cluster: an annotation or claim of one who may delay that, see
// [policy.MayDelay]. When the ManagedCluster is leaving nothing is paused.
func (f *gatherer) pauseOn(ctx context.Context, app *argocd.Application, g guard.Group, name string, act policy.Act) (policy.Pause, error) {
	var pauses []policy.Pause
	add := func(speaker policy.Speaker, o client.Object, kind string) {
		if !policy.MayDelay(speaker, act) {
			return
		}
		on := kind + " " + o.GetName()
		if o.GetNamespace() != "" {
			on = kind + " " + o.GetNamespace() + "/" + o.GetName()
		}
		pauses = append(pauses, policy.ParsePause(o.GetAnnotations()[contract.PausedAnnotation], "annotation "+contract.PausedAnnotation+" of "+on, f.now()))
	}
	cluster, err := getCluster(ctx, f.client, name)
	switch {
	case err != nil:
		return policy.Pause{}, err
	case cluster != nil && cluster.DeletionTimestamp != nil:
		return policy.Pause{}, nil
	case cluster != nil:
		add(policy.OnManagedCluster, cluster, "ManagedCluster")
		if policy.MayDelay(policy.OnClusterClaim, act) {
			pauses = append(pauses, policy.ParsePause(appcache.PauseClaim(cluster), "ClusterClaim "+contract.PauseClaim+" of cluster "+name, f.now()))
		}
	}
	if app != nil {
		add(policy.OnApplication, app, "Application")
	}
	if g.Set != "" {
		words, gone, err := f.wordsOfSet(ctx, g.Namespace, g.Set)
		if err != nil {
			return policy.Pause{}, err
		}
		set := argocd.ApplicationSetMetadata()
		set.Namespace, set.Name, set.Annotations = g.Namespace, g.Set, words
		if gone {
			set.Name += " (which is gone)"
		}
		add(policy.OnApplicationSet, set, argocd.ApplicationSetKind)
	}
	for name, speaker := range map[string]policy.Speaker{g.Namespace: policy.OnNamespace, f.options.HubNamespace: policy.OnHubNamespace} {
		if name == "" {
			continue
		}
		namespace := appcache.NamespaceMetadata()
		if err := f.decisionObject(ctx, namespace, client.ObjectKey{Name: name}); err != nil {
			return policy.Pause{}, err
		}
		namespace.SetName(name)
		add(speaker, namespace, "Namespace")
	}
	return policy.StrongestPause(pauses...), nil
}

// pauseOf returns what pauses an Application on its target.
func (f *gatherer) pauseOf(ctx context.Context, app *argocd.Application) (policy.Pause, error) {
	return f.pauseOn(ctx, app, guard.Group{Namespace: app.Namespace, Set: app.OwningApplicationSet()}, app.Annotations[contract.ClusterAnnotation], policy.Deliver)
}

// application returns the cached Application, nil when the cache has none. It is
// borrowed from the cache.
func (f *gatherer) application(ctx context.Context, key client.ObjectKey) (*argocd.Application, error) {
	app := &argocd.Application{}
	err := f.client.Get(ctx, key, app, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Application %s: %w", key, err)
	}
	return app, nil
}

// readInputs reads what a decision rests on.
func (f *gatherer) readInputs(ctx context.Context, from inputReader, app *argocd.Application) (policy.Inputs, error) {
	w := policy.Inputs{Application: app, Bound: f.options.Binding == BindingNone, ArgoCDNamespace: f.options.ArgoCDNamespace, AppNamespaces: f.options.AppNamespaces}
	name := app.Annotations[contract.ClusterAnnotation]
	if !policy.IsClusterName(name) || !contract.IsPulled(app.Labels) {
		return w, nil
	}
	cluster, err := getCluster(ctx, from, name)
	if err != nil {
		return w, err
	}
	w.Cluster = cluster
	if w.DeletionPolicy, err = f.deletionPolicy(ctx, app, guard.Group{Namespace: app.Namespace, Set: app.OwningApplicationSet()}); err != nil {
		return w, err
	}
	if !w.Bound {
		if w.Bound, err = bound(ctx, from, app.Namespace, name); err != nil {
			return w, err
		}
	}
	if w.HubProject, err = f.project(ctx, from, app); err != nil {
		return w, err
	}
	if err := f.readAgents(ctx, from, &w); err != nil {
		return w, err
	}
	switch {
	case !f.options.Project:
	case payload.ProjectName(app) != argocd.DefaultProject:
		w.Project = w.HubProject
	case from.indexed: // windows are spoken of, nothing rests on them
		w.Windows, err = f.namedProject(ctx, from, argocd.DefaultProject)
	}
	return w, err
}

// project returns the hub's AppProject that app names, nil when there positively is
// none. The one of an Application in the Argo CD namespace is not read when it
// neither travels nor has a say.
func (f *gatherer) project(ctx context.Context, from client.Reader, app *argocd.Application) (*argocd.AppProject, error) {
	name := payload.ProjectName(app)
	if app.Namespace == f.options.ArgoCDNamespace && (name == argocd.DefaultProject || !f.options.Project) {
		return nil, nil
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, nil // nothing can be called that, and the API server is not asked
	}
	return f.namedProject(ctx, from, name)
}

// namedProject returns the hub's AppProject of a name, nil when there positively is none.
func (f *gatherer) namedProject(ctx context.Context, from client.Reader, name string) (*argocd.AppProject, error) {
	project := &argocd.AppProject{}
	err := from.Get(ctx, client.ObjectKey{Namespace: f.options.ArgoCDNamespace, Name: name}, project, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil // the managed cluster may have its own
	}
	if err != nil {
		return nil, fmt.Errorf("get AppProject %s: %w", name, err)
	}
	return project, nil
}

// payloadInputs collects what goes into the work, which is current unless that is nil.
func (f *gatherer) payloadInputs(w policy.Inputs, current *manifestcache.Work, q request.Request) payload.Inputs {
	p := payload.Inputs{Application: w.Application, CreateNamespace: f.options.Namespace, Request: q, Orphan: w.DeletionPolicy.Word == payload.DeletionOrphan, HasAgent: w.HasAgent, InstanceLabel: f.options.InstanceLabel}
	if w.DeletionPolicy.AsBefore && current != nil {
		p.Orphan = current.Annotations[contract.OnWithdrawAnnotation] != ""
	}
	if w.Project != nil {
		p.Project = w.Project
		p.ProjectNamespace = payload.ProjectNamespace(w.Application, f.options.ArgoCDNamespace)
	}
	return p
}

// currentApplied reports whether the agent has applied the current work, by the cache and
// by the API server. The agent takes an object away with the last work that has applied it.
func (f *gatherer) currentApplied(ctx context.Context, c copies) (bool, error) {
	if c.current == nil || !c.current.Facts.Applied {
		return false, nil // its event leads back here
	}
	live, err := f.liveWork(ctx, client.ObjectKeyFromObject(c.current))
	return err == nil && live != nil && live.DeletionTimestamp == nil && appliedAt(live) == metav1.ConditionTrue, err
}
