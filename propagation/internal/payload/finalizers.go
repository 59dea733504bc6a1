// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
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
