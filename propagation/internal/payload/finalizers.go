// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// argoCDFinalizers are those that the Argo CD of a managed cluster removes when it
// has done what they ask for (v2.14 and v3, pkg/apis/application/v1alpha1). Another
// one, of a controller of the hub or with a suffix that Argo CD does not know, would
// not be removed by any controller there, and the Application would hang in its deletion.
var argoCDFinalizers = []string{
	argocd.ResourcesFinalizer, argocd.ForegroundFinalizer, argocd.BackgroundFinalizer,
	argocd.PostDeleteFinalizer, argocd.PostDeleteCleanupFinalizer,
}

// DeliveredFinalizers returns those finalizers of an Application that travel with it.
func DeliveredFinalizers(app *argocd.Application) []string {
	return slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return !slices.Contains(argoCDFinalizers, f) })
}

// IsArgoFinalizer reports whether the Argo CD of a managed cluster, not the hub's, does what a
// finalizer asks for.
func IsArgoFinalizer(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == argocd.ResourcesFinalizer || base == argocd.PostDeleteFinalizer
}
