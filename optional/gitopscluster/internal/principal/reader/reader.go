// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reader reads the objects that package principal evaluates.
package reader

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

const (
	// noRoutesFor is how long a hub without OpenShift's Routes is taken for one.
	noRoutesFor = 10 * time.Minute
	maxRoutes   = 500
)

// A Role grants these rights in the Argo CD namespaces only. ConfigMaps are not listed.
// +kubebuilder:rbac:groups="",resources=services,namespace=argocd,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,namespace=argocd,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments,namespace=argocd,verbs=list;watch
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes,namespace=argocd,verbs=list

// Reader reads the objects of a principal.
type Reader struct {
	cached, live client.Reader
	now          func() time.Time

	noRoutes atomic.Int64 // when no such kind existed, as Unix time
}

// New returns a reader. cached holds [Caches], live reads past every cache.
func New(cached, live client.Reader, now func() time.Time) *Reader {
	return &Reader{cached: cached, live: live, now: now}
}

// Caches returns the objects that the cache of [New] must have.
func Caches(namespaces []string) map[client.Object]cache.ByObject {
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}:    {Namespaces: in, Transform: cache.TransformStripManagedFields()},
		&appsv1.Deployment{}: {Namespaces: in, Transform: cache.TransformStripManagedFields()},
	}
}

// Read returns the existing objects in the hub's Argo CD namespace.
func (r *Reader) Read(ctx context.Context, namespace string) (principal.Existing, error) {
	var services corev1.ServiceList
	if err := r.cached.List(ctx, &services, client.InNamespace(namespace)); err != nil {
		return principal.Existing{}, fmt.Errorf("list Services in %s: %w", namespace, err)
	}
	var deployments appsv1.DeploymentList
	if err := r.cached.List(ctx, &deployments, client.InNamespace(namespace)); err != nil {
		return principal.Existing{}, fmt.Errorf("list Deployments in %s: %w", namespace, err)
	}
	params := map[string]map[string]string{}
	for _, name := range principal.ParamsOf(deployments.Items) {
		config := &corev1.ConfigMap{}
		if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, config); client.IgnoreNotFound(err) != nil {
			return principal.Existing{}, fmt.Errorf("get ConfigMap %s/%s: %w", namespace, name, err)
		}
		params[name] = config.Data
	}
	routes, err := r.routes(ctx, namespace)
	return principal.Existing{Services: services.Items, Deployments: deployments.Items, Params: params, Routes: routes}, err
}

// routes lists OpenShift's Routes. A hub without them is not read again soon.
func (r *Reader) routes(ctx context.Context, namespace string) ([]principal.Route, error) {
	if r.now().Sub(time.Unix(r.noRoutes.Load(), 0)) < noRoutesFor {
		return nil, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "RouteList"})
	err := r.live.List(ctx, list, client.InNamespace(namespace), client.Limit(maxRoutes), client.MatchingLabels{"app.kubernetes.io/part-of": "argocd-agent"})
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		r.noRoutes.Store(r.now().Unix())
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list Routes in %s: %w", namespace, err)
	}
	routes := make([]principal.Route, 0, len(list.Items))
	for _, item := range list.Items {
		host, _, _ := unstructured.NestedString(item.Object, "spec", "host")
		service, _, _ := unstructured.NestedString(item.Object, "spec", "to", "name")
		routes = append(routes, principal.Route{Host: host, Service: service, Labels: item.GetLabels()})
	}
	return routes, nil
}
