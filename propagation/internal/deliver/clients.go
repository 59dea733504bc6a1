// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// clients are the clients of the hub and other values that all parts of delivery share.
type clients struct {
	// client writes, and reads from the cache. live reads from the API server.
	client  client.Client
	live    client.Reader
	index   *manifestcache.Index
	options Options
	now     func() time.Time
}

// getter gets an object by its key, as [client.Reader] does.
type getter interface {
	Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error
}

// readObject reads an object. It returns nil if no object of that name exists. An agent may write any
// name into its works. An error of the client for an invalid name would delay other Applications.
func readObject[T client.Object](ctx context.Context, from getter, key types.NamespacedName, o T) (T, error) {
	var none T
	if ignored := (contract.Rejected{}); contract.Name(key.Namespace, &ignored) != key.Namespace || contract.Name(key.Name, &ignored) != key.Name {
		return none, nil // no object has an invalid name
	}
	err := from.Get(ctx, key, o, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("get %s %s: %w", kindOf(o), key, err)
	}
	return o, nil
}

// kindOf returns the kind of an object for an error message.
func kindOf(o client.Object) string {
	switch m := o.(type) {
	case *metav1.PartialObjectMetadata:
		return m.Kind
	case *argocd.Application:
		return argocd.ApplicationKind
	case *argocd.AppProject:
		return argocd.AppProjectKind
	case *clusterv1.ManagedCluster:
		return "ManagedCluster"
	case *corev1.ConfigMap:
		return "ConfigMap"
	}
	return appcache.WorkKind.Kind
}

// storedWork returns the cached version of a work with its spec, which the cache does not keep.
func storedWork(ctx context.Context, live client.Reader, cached *manifestcache.Work) (*workv1.ManifestWork, error) {
	stored, err := readObject(ctx, live, client.ObjectKeyFromObject(cached), &workv1.ManifestWork{})
	if err == nil && (stored == nil || stored.ResourceVersion != cached.ResourceVersion) {
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), cached.Name, errors.New("the cache is behind"))
	}
	return stored, err
}
