// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import "strconv"

// SkipsReconcile reports whether annotations make Argo CD's controller skip an Application. As in
// that controller, [SkipReconcileAnnotation] has a value for strconv.ParseBool, and any other value
// is ignored (canProcessApp in controller/appcontroller.go of argoproj/argo-cd, v2.14 to v3.6).
func SkipsReconcile(annotations map[string]string) bool {
	skips, err := strconv.ParseBool(annotations[SkipReconcileAnnotation])
	return err == nil && skips
}
