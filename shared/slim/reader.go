// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader returns api, but Get also returns ManifestWorks, ManagedClusterAddOns and ManagedClusters
// that Go's types cannot hold. A ManagedCluster is then as [ManagedClusters] decodes it. A status that
// cannot be decoded counts as empty.
func Reader(api client.Reader) client.Reader { return reader{api} }

type reader struct{ client.Reader }

func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, options...)
	if err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return err
	}
	switch o := o.(type) {
	case *workv1.ManifestWork:
		return getAs(ctx, r.Reader, key, workv1.GroupVersion, "ManifestWork", Whole, o, err)
	case *addonv1alpha1.ManagedClusterAddOn:
		return getAs(ctx, r.Reader, key, addonv1alpha1.GroupVersion, "ManagedClusterAddOn", Whole, o, err)
	case *clusterv1.ManagedCluster:
		return getAs(ctx, r.Reader, key, clusterv1.GroupVersion, "ManagedCluster", (*slimCluster).cluster, o, err)
	}
	return err
}

// getAs gets an object, and decodes it as T. It returns why if that fails, too.
func getAs[T, O any](ctx context.Context, api client.Reader, key client.ObjectKey, version metav1.GroupVersion, kind string, object func(*T) *O, into *O, why error) error {
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(schema.GroupVersion(version).WithKind(kind))
	if api.Get(ctx, key, raw) != nil {
		return why
	}
	text, err := raw.MarshalJSON()
	if err != nil {
		return why
	}
	decoded, err := decodeObject[T](text)
	if err != nil {
		return why
	}
	*into = *object(decoded)
	return nil
}
