// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// argoCDFinalizers are the finalizers that the Argo CD of a managed cluster handles and removes
// (v2.14 and v3, pkg/apis/application/v1alpha1). No controller there would remove another
// finalizer, for example one of a hub controller. The Application would then hang in its deletion.
var argoCDFinalizers = []string{
	argocd.ResourcesFinalizer, argocd.ForegroundFinalizer, argocd.BackgroundFinalizer,
	argocd.PostDeleteFinalizer, argocd.PostDeleteCleanupFinalizer,
}

// DeliveredFinalizers returns the finalizers of an Application that are delivered with it.
func DeliveredFinalizers(app *argocd.Application) []string {
	return slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return !slices.Contains(argoCDFinalizers, f) })
}

// IsArgoFinalizer reports whether the Argo CD of a managed cluster handles a finalizer.
func IsArgoFinalizer(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == argocd.ResourcesFinalizer || base == argocd.PostDeleteFinalizer
}

// Cascades reports whether a spec delivers an Application with a finalizer that makes Argo CD prune.
func Cascades(spec *workv1.ManifestWorkSpec) bool {
	return slices.ContainsFunc(spec.Workload.Manifests, func(m workv1.Manifest) bool {
		var o deliveredObject
		return json.Unmarshal(m.Raw, &o) == nil && o.Kind == argocd.ApplicationKind && slices.ContainsFunc(o.Metadata.Finalizers, contract.IsCascading)
	})
}
