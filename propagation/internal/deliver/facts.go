// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// reader reads the objects that facts rest on. There is one over the caches and their indexes,
// and one over the API server. nil means that there positively is no such object. What cannot be
// read is an error.
type reader interface {
	Application(ctx context.Context, key types.NamespacedName) (*argocd.Application, error)
	// Set and Namespace return the annotations of an ApplicationSet and of a Namespace.
	Set(ctx context.Context, key types.NamespacedName) (*metav1.PartialObjectMetadata, error)
	Namespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error)
	Cluster(ctx context.Context, name string) (*clusterv1.ManagedCluster, error)
	Bound(ctx context.Context, namespace, cluster string) (binding, error)
	Project(ctx context.Context, name string) (*argocd.AppProject, error)
	// Works returns the ManifestWorks of an Application; app is nil when it is gone.
	Works(ctx context.Context, key types.NamespacedName, app *argocd.Application) ([]foundWork, error)
	// Rivals returns who else wants, or delivers, what app wants to be on its cluster.
	Rivals(ctx context.Context, app *argocd.Application) (foundRivals, error)
	// Agent reports whether the hub's argocd-agent knows an agent of that name.
	Agent(ctx context.Context, name string) (bool, error)
}

// binding is what the PlacementDecisions of a namespace say about a cluster.
type binding struct {
	// Bound: one of them selects the cluster.
	Bound bool
	// Unread is when the youngest one without status was created, zero when each has a status.
	// Whether such a PlacementDecision selects the cluster is unknown.
	Unread time.Time
}

// foundWork is a ManifestWork that carries an Application.
type foundWork struct {
	*manifestcache.Work
	// Live is the work as the API server has it, nil from the cache.
	Live     *workv1.ManifestWork
	Relation decide.Relation
}

// foundRivals are the works that deliver an identity, and the Applications that want it.
type foundRivals struct {
	Copies       []*manifestcache.Work
	Applications []*argocd.Application
}

// ledger is what the deletion budget remembers. Neither an agent nor a tenant can write it.
type ledger interface {
	Note(work types.UID) (decide.Note, error)
	// GoneSince returns since when an Application is gone, zero for not known to be.
	GoneSince(app types.NamespacedName) (time.Time, error)
	// Outlived returns the hold or undo of an ApplicationSet that is gone, the zero Ruling for none.
	Outlived(set types.NamespacedName) (decide.Ruling, error)
}

// sources are what facts rest on beside the objects that a [reader] reads.
type sources struct {
	options   Options
	now       func() time.Time
	ledger    ledger
	refreshes *refreshes
	// naming returns the namespaces of the Applications on a cluster that name an AppProject.
	naming func(ctx context.Context, cluster, project string) ([]string, error)
}

// gather returns the facts about an Application and its ManifestWorks. An error means that one
// of them could not be read, so that nothing may be decided.
func gather(ctx context.Context, s *sources, from reader, key types.NamespacedName) (decide.Facts, error) {
	f := decide.Facts{Key: key, Now: s.now(), Settings: settingsOf(&s.options)}
	p := &lookups{from: from, sources: s, facts: &f, clusters: map[string]decide.Cluster{}, bindings: map[string]binding{}, projects: map[string]*argocd.AppProject{}}
	var err error
	if f.Application, err = from.Application(ctx, key); err != nil {
		return f, err
	}
	if f.Namespace, err = p.namespaceWords(ctx, key.Namespace); err != nil {
		return f, err
	}
	if f.Hub = f.Namespace; s.options.HubNamespace != key.Namespace {
		if f.Hub, err = p.namespaceWords(ctx, s.options.HubNamespace); err != nil {
			return f, err
		}
	}
	if f.Application == nil {
		f.GoneSince, err = s.ledger.GoneSince(key)
	} else {
		err = gatherDesired(ctx, p)
	}
	if err != nil {
		return f, err
	}
	f.Works, err = gatherWorks(ctx, p)
	return f, err
}

func settingsOf(o *Options) decide.Settings {
	return decide.Settings{
		BindingGrace: o.BindingGrace, RecreateGrace: o.RecreateGrace, SizeLimit: o.SizeLimit,
		ArgoCDNamespace: o.ArgoCDNamespace, AppNamespaces: o.AppNamespaces, InstanceLabel: o.InstanceLabel,
		CreateNamespace: o.Namespace, DeliverProject: o.Project,
	}
}

// gatherDesired adds the facts about what the Application asks for.
func gatherDesired(ctx context.Context, p *lookups) (err error) {
	f, app := p.facts, p.facts.Application
	if set := app.OwningApplicationSet(); set != "" {
		if f.Owner, err = p.setWords(ctx, types.NamespacedName{Namespace: app.Namespace, Name: set}); err != nil {
			return err
		}
	}
	if err := gatherTarget(ctx, p); err != nil {
		return err
	}
	name := app.Annotations[contract.ClusterAnnotation]
	if !policy.IsClusterName(name) || !contract.IsPulled(app.Labels) {
		return nil
	}
	if f.Rivals, err = gatherRivals(ctx, p); err != nil {
		return err
	}
	return gatherRequest(ctx, p, name)
}

// gatherTarget adds the facts about the place that the Application asks for.
func gatherTarget(ctx context.Context, p *lookups) (err error) {
	f, app := p.facts, p.facts.Application
	name := app.Annotations[contract.ClusterAnnotation]
	f.Target = decide.Cluster{Name: name}
	if !policy.IsClusterName(name) || !contract.IsPulled(app.Labels) {
		return nil
	}
	if f.Target, err = p.cluster(ctx, name); err != nil {
		return err
	}
	bound, err := p.bound(ctx, name, false)
	if err != nil {
		return err
	}
	if f.Project, err = p.project(ctx, payload.ProjectName(app)); err != nil {
		return err
	}
	if payload.ProjectName(app) == argocd.DefaultProject {
		f.Default = f.Project
	}
	f.May = f.Settings.Permission(decide.Place{
		Namespace: app.Namespace, Bound: bound, ProjectName: payload.ProjectName(app), Project: f.Project, Target: payload.DeliveredNamespace(app),
	})
	if len(p.sources.options.AgentNamespaces) == 0 {
		return nil
	}
	if f.HasAgent, err = p.from.Agent(ctx, name); err != nil {
		return err
	}
	if agent := payload.HubDestination(app); app.Labels[argocd.IgnoreSyncLabel] != "true" && len(validation.IsDNS1123Label(agent)) == 0 {
		by, err := p.from.Agent(ctx, agent)
		if err != nil {
			return err
		}
		if by {
			f.ByAgent = agent
		}
	}
	return nil
}

// gatherRequest adds what is known of the Application's one-time request.
func gatherRequest(ctx context.Context, p *lookups, name string) error {
	f := p.facts
	conditions, err := appstatus.Conditions(f.Application.Status)
	if err != nil {
		f.StatusProblem = err.Error()
		return nil
	}
	cluster, err := p.from.Cluster(ctx, name)
	if err != nil {
		return err
	}
	claim, made := request.ClaimOf(conditions)
	f.Request = request.Known{Claim: claim, Unseen: request.NeverSeen(cluster, made)}
	f.Request.Refreshing, f.Request.Refreshed = p.sources.refreshes.of(f.Application)
	f.RefreshDone = p.sources.refreshes.get(f.Key).done
	return nil
}

// gatherRivals returns the other Applications, and what is left of ones that are gone, that want
// or deliver what the Application wants to be. One that wants it without having a copy counts only
// if it could have one.
func gatherRivals(ctx context.Context, p *lookups) ([]decide.Rival, error) {
	found, err := p.from.Rivals(ctx, p.facts.Application)
	if err != nil {
		return nil, err
	}
	rivals := map[types.NamespacedName]*decide.Rival{}
	for _, work := range found.Copies {
		key, named := work.Claimant()
		if !named || key == p.facts.Key {
			continue
		}
		r := decide.Rival{Key: key, Copy: work.Name, Applied: work.DeletionTimestamp == nil && work.Applied() == metav1.ConditionTrue}
		// Of several the applied one counts, else the first by name.
		if b := rivals[key]; b == nil || r.Applied && !b.Applied || r.Applied == b.Applied && r.Copy < b.Copy {
			rivals[key] = &r
		}
	}
	for _, app := range found.Applications {
		key := client.ObjectKeyFromObject(app)
		r := rivals[key]
		if r == nil {
			able, err := deliverable(ctx, p, app)
			if err != nil {
				return nil, err
			}
			if !able {
				continue
			}
			r = &decide.Rival{Key: key}
			rivals[key] = r
		}
		r.UID, r.Created, r.Wants = app.UID, app.CreationTimestamp.Time, app.DeletionTimestamp == nil
	}
	list := make([]decide.Rival, 0, len(rivals))
	for _, r := range rivals {
		if !r.Wants {
			if r.Waits, err = waitsOn(ctx, p.from, r.Key); err != nil {
				return nil, err
			}
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b decide.Rival) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return list, nil
}

// deliverable reports whether nothing refuses the delivery of another Application to the target.
func deliverable(ctx context.Context, p *lookups, app *argocd.Application) (bool, error) {
	f := decide.Facts{Key: client.ObjectKeyFromObject(app), Now: p.facts.Now, Settings: p.facts.Settings, Application: app}
	theirs := &lookups{from: p.from, sources: p.sources, facts: &f, clusters: p.clusters, bindings: map[string]binding{}, projects: p.projects}
	if err := gatherTarget(ctx, theirs); err != nil {
		return false, err
	}
	if set := app.OwningApplicationSet(); set != "" {
		owner, err := theirs.setWords(ctx, types.NamespacedName{Namespace: app.Namespace, Name: set})
		if err != nil {
			return false, err
		}
		f.Owner = owner
	}
	return decide.Deliverable(f), nil
}

// waitsOn returns the Application whose copy has what another Application wants to be, empty for
// none: two that wait for each other wait for ever.
func waitsOn(ctx context.Context, from reader, key types.NamespacedName) (first types.NamespacedName, err error) {
	app, err := from.Application(ctx, key)
	if err != nil || app == nil || app.DeletionTimestamp != nil || !contract.IsPulled(app.Labels) {
		return first, err
	}
	found, err := from.Rivals(ctx, app)
	for _, work := range found.Copies {
		other, named := work.Claimant()
		if named && other != key && (first.Name == "" || other.String() < first.String()) {
			first = other
		}
	}
	return first, err
}

// gatherWorks returns the works with what is known of their places.
func gatherWorks(ctx context.Context, p *lookups) ([]decide.Work, error) {
	found, err := p.from.Works(ctx, p.facts.Key, p.facts.Application)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b foundWork) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	works := make([]decide.Work, 0, len(found))
	for _, w := range found {
		work := decide.Work{
			Work: w.Work, Live: w.Live, Relation: w.Relation, Project: w.Stored.Project,
			Finalized: w.Stored.Finalized, Missing: w.Extra.Missing, Applied: w.Applied(),
		}
		if work.Cluster, err = p.cluster(ctx, w.Namespace); err != nil {
			return nil, err
		}
		if work.May, err = p.permission(ctx, w.Work); err != nil {
			return nil, err
		}
		if work.Stale, err = p.stale(ctx, w.Work); err != nil {
			return nil, err
		}
		if work.Note, err = p.sources.ledger.Note(w.UID); err != nil {
			return nil, err
		}
		if set, named := setOf(w.Work); named && p.facts.Application == nil {
			if work.Set, err = p.setWords(ctx, set); err != nil {
				return nil, err
			}
		}
		works = append(works, work)
	}
	return works, nil
}

// setOf returns the ApplicationSet that a work names, of its Application's namespace.
func setOf(work *manifestcache.Work) (set types.NamespacedName, named bool) {
	set, named = work.ApplicationSet()
	app, _ := work.Claimant()
	return set, named && set.Namespace == app.Namespace
}

// lookups reads what is known of clusters, bindings and AppProjects, each once for an
// Application.
type lookups struct {
	from     reader
	sources  *sources
	facts    *decide.Facts
	clusters map[string]decide.Cluster
	bindings map[string]binding
	projects map[string]*argocd.AppProject
}

// cluster returns the facts about a ManagedCluster.
func (p *lookups) cluster(ctx context.Context, name string) (decide.Cluster, error) {
	if c, known := p.clusters[name]; known {
		return c, nil
	}
	c := decide.Cluster{Name: name}
	cluster, err := p.from.Cluster(ctx, name)
	if err != nil {
		return c, err
	}
	c.State = status.ClusterOf(name, cluster)
	if cluster != nil {
		c.There, c.Leaving, c.Hub = true, cluster.DeletionTimestamp != nil, contract.IsHub(cluster.Name, cluster.Labels)
		c.Pause = policy.StrongestPause(
			policy.ParsePause(cluster.Annotations[contract.PausedAnnotation], pausedOn("ManagedCluster "+name), p.facts.Now),
			policy.ParsePause(appcache.PauseClaim(cluster), "ClusterClaim "+contract.PauseClaim+" of cluster "+name, p.facts.Now))
	}
	p.clusters[name] = c
	return c, nil
}

func pausedOn(object string) string {
	return "annotation " + contract.PausedAnnotation + " of " + object
}

// bound reports whether the Application's namespace may use a cluster. What exists there may stay
// while a PlacementDecision is unread: for one binding grace from its creation, in which the
// placement controller writes a status where there is something to select.
func (p *lookups) bound(ctx context.Context, cluster string, exists bool) (bool, error) {
	if p.sources.options.Binding == BindingNone {
		return true, nil
	}
	b, known := p.bindings[cluster]
	if !known {
		var err error
		if b, err = p.from.Bound(ctx, p.facts.Key.Namespace, cluster); err != nil {
			return false, err
		}
		p.bindings[cluster] = b
	}
	left := b.Unread.Add(p.facts.Settings.BindingGrace).Sub(p.facts.Now)
	if b.Bound || b.Unread.IsZero() || left <= 0 {
		return b.Bound, nil
	}
	p.facts.Again = sooner(p.facts.Again, left)
	return exists, nil
}

// project returns the hub's AppProject of a name, nil for none.
func (p *lookups) project(ctx context.Context, name string) (*argocd.AppProject, error) {
	if project, known := p.projects[name]; known || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return project, nil // nothing can have an invalid name
	}
	project, err := p.from.Project(ctx, name)
	if err != nil {
		return nil, err
	}
	p.projects[name] = project
	return project, nil
}

// permission returns what the place of a work grants, by what the work carries. What it carries
// and cannot be read is permitted until it can.
func (p *lookups) permission(ctx context.Context, work *manifestcache.Work) (may decide.Permission, err error) {
	place := decide.Place{Namespace: p.facts.Key.Namespace, ProjectName: work.Stored.Project}
	if place.Bound, err = p.bound(ctx, work.Namespace, true); err != nil {
		return may, err
	}
	if there, ok := work.Delivers(); ok {
		place.Target = there.Namespace
	}
	if place.ProjectName != "" && place.Namespace != p.facts.Settings.ArgoCDNamespace {
		if place.Project, err = p.project(ctx, place.ProjectName); err != nil {
			return may, err
		}
	}
	return p.facts.Settings.Permission(place), nil
}

// stale reports whether the AppProject in a work is not the hub's, and its cluster may be told: the
// project admits the Application's namespace, or an Application on that cluster names it that the
// project admits. An agent can have a work name any AppProject, and each one admits the Argo CD
// namespace.
func (p *lookups) stale(ctx context.Context, work *manifestcache.Work) (bool, error) {
	if !p.facts.Settings.DeliverProject || work.Stored.ProjectHash == "" || work.DeletionTimestamp != nil {
		return false, nil
	}
	project, err := p.project(ctx, work.Stored.Project)
	if err != nil || project == nil || !payload.Outdated(work, project, p.facts.Settings.InstanceLabel) {
		return false, err
	}
	admits := func(namespace string) bool {
		return p.facts.Settings.Permission(decide.Place{Namespace: namespace, ProjectName: project.Name, Project: project, Target: namespace}).Project
	}
	if key := p.facts.Key.Namespace; key != p.facts.Settings.ArgoCDNamespace && admits(key) {
		return true, nil
	}
	namespaces, err := p.sources.naming(ctx, work.Namespace, project.Name)
	return slices.ContainsFunc(namespaces, admits), err
}

// namespaceWords returns what a Namespace says. Without a name there is none.
func (p *lookups) namespaceWords(ctx context.Context, name string) (decide.Words, error) {
	if name == "" {
		return decide.Words{}, nil
	}
	w := decide.Words{On: "Namespace " + name}
	namespace, err := p.from.Namespace(ctx, name)
	if err != nil || namespace == nil {
		return w, err
	}
	p.read(&w, namespace.Annotations)
	return w, nil
}

// setWords returns what an ApplicationSet says, nil when it is gone and nothing outlives it.
func (p *lookups) setWords(ctx context.Context, key types.NamespacedName) (*decide.Words, error) {
	w := &decide.Words{On: argocd.ApplicationSetKind + " " + key.String()}
	set, err := p.from.Set(ctx, key)
	if err != nil {
		return nil, err
	}
	if set == nil {
		if w.Ruling, err = p.sources.ledger.Outlived(key); err != nil {
			return nil, fmt.Errorf("read what %s said: %w", w.On, err)
		}
		w.Gone, w.Ruling.Gone = true, true
		if !w.Ruling.Word.Keeps() || !w.Ruling.Until.IsZero() && !w.Ruling.Until.After(p.facts.Now) {
			return nil, nil
		}
		return w, nil
	}
	p.read(w, set.Annotations)
	w.Policy = policy.ParseDeletionPolicy(set.Annotations[contract.DeletionPolicyAnnotation], w.On, true)
	return w, nil
}

// read reads the annotations by which an object delays or allows what is done. An invalid value
// holds, and was reported when it was seen.
func (p *lookups) read(w *decide.Words, annotations map[string]string) {
	w.Pause = policy.ParsePause(annotations[contract.PausedAnnotation], pausedOn(w.On), p.facts.Now)
	w.Ruling, _ = decide.ParseRuling(annotations[contract.DeletionBudgetAnnotation], w.On, p.facts.Now)
}
