// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// fieldOwner is our field manager.
const fieldOwner = "multicluster-integrations-agent"

// The one ClusterManagementAddOn that matters is read by its name.
// The name of the add-ons is the same everywhere.
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=managedclusteraddons,verbs=list;watch;create
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=managedclusteraddons,resourceNames=mci-argocd-agent,verbs=get;patch;delete
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=managedclusteraddons/status,resourceNames=mci-argocd-agent,verbs=patch
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=clustermanagementaddons,resourceNames=mci-argocd-agent,verbs=list;watch
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=addondeploymentconfigs,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch

// Fleet reads and writes the objects on the hub for the agents of all managed clusters.
type Fleet struct {
	// objects reads our add-ons, the works that deliver agents, and the configurations of add-ons.
	// looks reads the works that check for the key of an agent. clusters reads the ManagedClusters.
	objects, leaving, clusters client.Reader
	// watched are the caches of the three.
	watched struct{ objects, looks, clusters cache.Cache }
	// client reads past the caches.
	client client.Client
	now    func() time.Time
}

// New returns a Fleet with caches that run with mgr. The cache of mgr must hold ManagedClusters.
func New(mgr ctrl.Manager) (*Fleet, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(addonv1alpha1.Install(scheme), workv1.Install(scheme), clusterv1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	owned := labels.SelectorFromSet(labels.Set{agent.OwnedLabel: "true"})
	// A managed cluster may set our label on all works in its namespace. It cannot create works.
	works := func(name string) cache.ByObject {
		is := fields.OneTermEqualSelector("metadata.name", name)
		return cache.ByObject{Label: owned, Field: is, Transform: agent.Transform}
	}
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: scheme, Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&addonv1alpha1.ManagedClusterAddOn{}:    {Label: owned, Transform: agent.Transform},
			&workv1.ManifestWork{}:                  works(agent.WorkName),
			&addonv1alpha1.AddOnDeploymentConfig{}:  {},
			&addonv1alpha1.ClusterManagementAddOn{}: {Field: fields.OneTermEqualSelector("metadata.name", agent.AddOnName)},
		},
	}
	// The clusters' agents write the status of their add-ons and works.
	addOns, err := slim.NewSource(mgr.GetConfig(), agent.AddOns, slim.Whole[addonv1alpha1.ManagedClusterAddOn], client.MatchingLabelsSelector{Selector: owned})
	if err != nil {
		return nil, err
	}
	delivering, err := worksNamed(mgr.GetConfig(), owned, agent.WorkName)
	if err != nil {
		return nil, err
	}
	options.NewInformer = slim.Informers(addOns, delivering)
	objects, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("watch add-ons and works of argocd-agent: %w", err)
	}
	// A field selector has one name, and a cache has one selector for each kind.
	options.ByObject = map[client.Object]cache.ByObject{&workv1.ManifestWork{}: works(agent.LeavingWorkName)}
	checking, err := worksNamed(mgr.GetConfig(), owned, agent.LeavingWorkName)
	if err != nil {
		return nil, err
	}
	options.NewInformer = slim.Informers(checking)
	leaving, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("watch works that check for keys of argocd-agent: %w", err)
	}
	c, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: scheme, Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make a client for add-ons and works: %w", err)
	}
	if err := errors.Join(mgr.Add(objects), mgr.Add(leaving)); err != nil {
		return nil, err
	}
	f := &Fleet{objects: objects, leaving: leaving, clusters: mgr.GetCache(), client: c, now: time.Now}
	f.watched.objects, f.watched.looks, f.watched.clusters = objects, leaving, mgr.GetCache()
	return f, nil
}

func worksNamed(config *rest.Config, owned labels.Selector, name string) (slim.Source, error) {
	return slim.NewSource(config, agent.Works, slim.Whole[workv1.ManifestWork], client.MatchingLabelsSelector{Selector: owned}, client.MatchingFields{"metadata.name": name})
}

// Reading returns a Fleet without caches, for [Fleet.Plan] alone.
func Reading(c client.Client) *Fleet {
	return &Fleet{objects: c, leaving: c, clusters: c, client: c, now: time.Now}
}

// Reader reads add-ons with our label.
func (f *Fleet) Reader() client.Reader { return f.objects }

// Works returns the works with our label, by cluster: those that deliver an agent, and those that
// check for its key. They belong to caches.
func (f *Fleet) Works(ctx context.Context) (deliver, leaving map[string]*workv1.ManifestWork, err error) {
	if deliver, err = worksOf(ctx, f.objects, agent.WorkName); err != nil {
		return nil, nil, err
	}
	leaving, err = worksOf(ctx, f.leaving, agent.LeavingWorkName)
	return deliver, leaving, err
}

func worksOf(ctx context.Context, from client.Reader, name string) (map[string]*workv1.ManifestWork, error) {
	var list workv1.ManifestWorkList
	labelled := client.MatchingLabels{agent.OwnedLabel: "true"}
	if err := from.List(ctx, &list, labelled, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ManifestWorks %s: %w", name, err)
	}
	works := make(map[string]*workv1.ManifestWork, len(list.Items))
	for i := range list.Items {
		if w := &list.Items[i]; w.Name == name { // without a cache, works of other names are listed, too
			works[w.Namespace] = w
		}
	}
	return works, nil
}

// Sources send a controller everything that [Fleet.Ensure] and [Fleet.Leave] depend on:
// requests is called with the cluster.
func (f *Fleet) Sources(requests func(cluster string) []reconcile.Request) []source.Source {
	of := func(o client.Object) []reconcile.Request { return requests(o.GetNamespace()) }
	all := func(ctx context.Context) []reconcile.Request { return everyAddOn(ctx, f.objects, of) }
	works := handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, w *workv1.ManifestWork) []reconcile.Request { return of(w) })
	return []source.Source{
		source.Kind(f.watched.objects, &addonv1alpha1.ManagedClusterAddOn{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, a *addonv1alpha1.ManagedClusterAddOn) []reconcile.Request { return of(a) })),
		source.Kind(f.watched.objects, &workv1.ManifestWork{}, works),
		source.Kind(f.watched.looks, &workv1.ManifestWork{}, works),
		source.Kind(f.watched.objects, &addonv1alpha1.ClusterManagementAddOn{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, _ *addonv1alpha1.ClusterManagementAddOn) []reconcile.Request {
				return all(ctx)
			})),
		source.Kind(f.watched.objects, &addonv1alpha1.AddOnDeploymentConfig{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, _ *addonv1alpha1.AddOnDeploymentConfig) []reconcile.Request {
				return all(ctx)
			})),
		source.Kind(f.watched.clusters, &clusterv1.ManagedCluster{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, c *clusterv1.ManagedCluster) []reconcile.Request {
				a := &addonv1alpha1.ManagedClusterAddOn{}
				if f.objects.Get(ctx, types.NamespacedName{Namespace: c.Name, Name: agent.AddOnName}, a) != nil {
					return nil // who selects the cluster will ask for it
				}
				return of(a)
			}), clusterChanged),
	}
}

// everyAddOn returns the requests for every add-on.
func everyAddOn(ctx context.Context, objects client.Reader, requests func(client.Object) []reconcile.Request) []reconcile.Request {
	var list addonv1alpha1.ManagedClusterAddOnList
	if err := objects.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list ManagedClusterAddOns")
		return nil
	}
	var all []reconcile.Request
	for i := range list.Items {
		all = append(all, requests(&list.Items[i])...)
	}
	return all
}

// clusterChanged selects changes of the fields that an agent's state depends on, because a
// ManagedCluster's status changes all the time.
var clusterChanged = predicate.TypedFuncs[*clusterv1.ManagedCluster]{
	UpdateFunc: func(e event.TypedUpdateEvent[*clusterv1.ManagedCluster]) bool {
		return status.ClusterOf("", e.ObjectOld) != status.ClusterOf("", e.ObjectNew) || registries(e.ObjectOld) != registries(e.ObjectNew)
	},
}

func registries(c *clusterv1.ManagedCluster) string {
	return c.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey]
}
