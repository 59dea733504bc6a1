// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Source sends h every change of the four Secrets in namespaces. The API server sends
// their metadata only: keys never come here that way. The manager's own cache is of
// Secrets with another label, so this one is separate.
func Source(mgr ctrl.Manager, namespaces []string, h handler.TypedEventHandler[*metav1.PartialObjectMetadata, reconcile.Request]) (source.Source, error) {
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	watched, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{secrets: {Namespaces: in, Transform: identity}},
	})
	if err != nil {
		return nil, fmt.Errorf("set up the watch of argocd-agent's Secrets: %w", err)
	}
	if err := mgr.Add(watched); err != nil {
		return nil, fmt.Errorf("add the watch of argocd-agent's Secrets: %w", err)
	}
	ours := predicate.NewTypedPredicateFuncs(func(o *metav1.PartialObjectMetadata) bool { return slices.Contains(names, o.Name) })
	return source.Kind(watched, secrets, h, ours), nil
}

// identity keeps no more of a Secret than its identity and version.
func identity(in any) (any, error) {
	if o, ok := in.(*metav1.PartialObjectMetadata); ok {
		o.ObjectMeta = metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	}
	return in, nil
}
