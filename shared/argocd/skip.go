// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import "strconv"

// SkipsReconcile reports whether annotations keep Argo CD's controller off an
// Application. It reads [SkipReconcileAnnotation] as that controller does, which
// takes any spelling of strconv.ParseBool and ignores the rest (canProcessApp
// in controller/appcontroller.go of argoproj/argo-cd, the same in v2.14 and v3.6).
func SkipsReconcile(annotations map[string]string) bool {
	skips, err := strconv.ParseBool(annotations[SkipReconcileAnnotation])
	return err == nil && skips
}
