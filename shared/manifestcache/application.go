// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// bulky is the size from which a status is worth taking apart.
const bulky = 1024

// TrimApplication is the transform of a cache of Applications: it drops, in place, what
// no reader needs, and shares what many have in common. What is left out of a status is never
// written either: all patches are merges.
func TrimApplication(in any) (any, error) {
	app, ok := in.(*argocd.Application)
	if !ok {
		return in, nil
	}
	app.TypeMeta = metav1.TypeMeta{}
	app.ManagedFields = nil
	app.Namespace = Intern(app.Namespace)
	if _, there := app.Annotations[corev1.LastAppliedConfigAnnotation]; there {
		app.Annotations = maps.Clone(app.Annotations)
		delete(app.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	app.Labels, app.Annotations = shareMap(app.Labels), shareMap(app.Annotations)
	app.Finalizers, app.OwnerReferences = shareFinalizers(app.Finalizers), shareOwners(app.OwnerReferences)
	app.Spec = shareSpec(app.Spec)
	if len(app.Status) > bulky {
		app.Status = trimStatus(app.Status)
	}
	return app, nil
}

func trimStatus(status json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(status, &fields); err != nil {
		return status // whoever reads it says so
	}
	for _, name := range []string{"resources", "history", "summary"} {
		delete(fields, name)
	}
	trimmed, err := json.Marshal(fields)
	if err != nil {
		return status
	}
	return trimmed
}
