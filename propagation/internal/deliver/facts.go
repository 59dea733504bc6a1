// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// gather returns the facts about an Application and its ManifestWorks. It returns an error if one
// of them cannot be read, because nothing may be decided then.
func gather(ctx context.Context, s *sources, from reader, key types.NamespacedName) (decide.Facts, error) {
	f := decide.Facts{Key: key, Now: s.now(), Settings: settingsOf(&s.options)}
	p := &lookups{from: from, sources: s, facts: &f, clusters: map[string]decide.Cluster{}, bindings: map[string]bool{}, projects: map[string]*argocd.AppProject{}}
	var err error
	if f.Application, err = readObject(ctx, from, key, &argocd.Application{}); err != nil {
		return f, err
	}
	if f.Namespace, err = p.namespaceAnnotations(ctx, key.Namespace); err != nil {
		return f, err
	}
	if f.Hub = f.Namespace; s.options.HubNamespace != key.Namespace {
		if f.Hub, err = p.namespaceAnnotations(ctx, s.options.HubNamespace); err != nil {
			return f, err
		}
	}
	if f.Application == nil {
		f.GoneSince = s.ledger.GoneSince(key)
	} else if err := gatherDesired(ctx, p); err != nil {
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

// gatherDesired adds the facts about the desired delivery. An Application that is being deleted has
// none, so its target is not read.
func gatherDesired(ctx context.Context, p *lookups) (err error) {
	f, app := p.facts, p.facts.Application
	if set := app.OwningApplicationSet(); set != "" {
		if f.Owner, err = p.setAnnotations(ctx, types.NamespacedName{Namespace: app.Namespace, Name: set}); err != nil {
			return err
		}
	}
	if app.DeletionTimestamp != nil {
		return nil
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

// gatherTarget adds the facts about the target of the Application.
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
	bound, err := p.bound(ctx, name)
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

// gatherRequest adds the state of the Application's one-time request.
func gatherRequest(ctx context.Context, p *lookups, name string) error {
	f := p.facts
	conditions, err := appstatus.Conditions(f.Application.Status)
	if err != nil {
		f.StatusProblem = err.Error()
		return nil //nolint:nilerr // a status that cannot be read is a fact: an error would let a tenant delay a removal after a lost permission
	}
	cluster, err := readObject(ctx, p.from, types.NamespacedName{Name: name}, &clusterv1.ManagedCluster{})
	if err != nil {
		return err
	}
	claim, made := request.ClaimOf(conditions)
	f.Request = request.Known{Claim: claim, Unseen: request.NeverSeen(cluster, made)}
	f.Request.Refreshing, f.Request.Refreshed = p.sources.refreshes.of(f.Application)
	f.RefreshDone = p.sources.refreshes.get(f.Key).done
	return nil
}

// gatherRivals returns the other Applications that ask for the same identity, and copies of it that
// other Applications have left. An Application without a copy counts only if it could be delivered.
func gatherRivals(ctx context.Context, p *lookups) ([]decide.Rival, error) {
	found, err := p.from.Rivals(ctx, p.facts.Application)
	if err != nil {
		return nil, err
	}
	rivals := rivalsByCopy(found.Copies, p.facts.Key)
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

// rivalsByCopy returns the Applications other than own to which copies belong. If an Application
// has several copies, the applied one counts, else the first one by name.
func rivalsByCopy(copies []*manifestcache.Work, own types.NamespacedName) map[types.NamespacedName]*decide.Rival {
	rivals := map[types.NamespacedName]*decide.Rival{}
	for _, work := range copies {
		key, named := work.Claimant()
		if !named || key == own {
			continue
		}
		r := decide.Rival{Key: key, Copy: work.Name, Applied: work.DeletionTimestamp == nil && work.Applied() == metav1.ConditionTrue}
		if b := rivals[key]; b == nil || r.Applied && !b.Applied || r.Applied == b.Applied && r.Copy < b.Copy {
			rivals[key] = &r
		}
	}
	return rivals
}

// deliverable reports whether another Application could be delivered to the target.
func deliverable(ctx context.Context, p *lookups, app *argocd.Application) (bool, error) {
	f := decide.Facts{Key: client.ObjectKeyFromObject(app), Now: p.facts.Now, Settings: p.facts.Settings, Application: app}
	theirs := &lookups{from: p.from, sources: p.sources, facts: &f, clusters: p.clusters, bindings: map[string]bool{}, projects: p.projects}
	if err := gatherTarget(ctx, theirs); err != nil {
		return false, err
	}
	if set := app.OwningApplicationSet(); set != "" {
		owner, err := theirs.setAnnotations(ctx, types.NamespacedName{Namespace: app.Namespace, Name: set})
		if err != nil {
			return false, err
		}
		f.Owner = owner
	}
	return decide.Deliverable(f), nil
}

// waitsOn returns the Application that still has a delivery with the identity that another
// Application asks for, or an empty name. Two Applications that wait for each other would wait
// forever.
func waitsOn(ctx context.Context, from reader, key types.NamespacedName) (first types.NamespacedName, err error) {
	app, err := readObject(ctx, from, key, &argocd.Application{})
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

// gatherWorks returns the works with the facts about their clusters and namespaces.
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
			Finalized: w.Stored.Finalized, Missing: w.Extra.Missing, Applied: w.Applied(), Note: p.sources.ledger.Note(w.UID),
			Waiting: ends.waiting(p.facts.Key, w.UID),
		}
		noted := work.Note.Known && work.Note.Group.Namespace == p.facts.Key.Namespace
		if named, _ := w.Claimant(); named != p.facts.Key && work.Note.Known && !noted {
			continue // a deleted Application of another namespace has left it, and its name only seems to prove this one
		}
		if work.Cluster, err = p.cluster(ctx, w.Namespace); err != nil {
			return nil, err
		}
		if work.May, err = p.permission(ctx, w.Work); err != nil {
			return nil, err
		}
		if work.Stale, err = p.stale(ctx, w.Work, noted || w.Relation != decide.Leftover); err != nil {
			return nil, err
		}
		if g := decide.GroupOf(w.Work); g.Set != "" && p.facts.Application == nil {
			if work.Set, err = p.setAnnotations(ctx, types.NamespacedName{Namespace: g.Namespace, Name: g.Set}); err != nil {
				return nil, err
			}
		}
		works = append(works, work)
	}
	return works, nil
}
