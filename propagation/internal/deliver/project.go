// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// +kubebuilder:rbac:groups="",namespace=argocd,resources=configmaps,resourceNames=argocd-cm,verbs=get;list;watch

// readProject returns the hub's AppProject of a name with the lists of its global projects. It
// returns nil if the AppProject does not exist. With a [policy.SettingError] it returns the
// AppProject alone.
func readProject(ctx context.Context, from getter, namespace, name string) (*argocd.AppProject, error) {
	project, err := readObject(ctx, from, types.NamespacedName{Namespace: namespace, Name: name}, &argocd.AppProject{})
	if project == nil || err != nil {
		return nil, err
	}
	setting, err := globalProjects(ctx, from, namespace)
	if err != nil {
		return nil, err
	}
	names, err := policy.GlobalProjects(setting, project)
	if err != nil || len(names) == 0 {
		return project, err
	}
	merged := *project // the cache may share it
	for _, name := range names {
		global, err := readObject(ctx, from, types.NamespacedName{Namespace: namespace, Name: name}, &argocd.AppProject{})
		if err != nil {
			return nil, err
		}
		if global == nil {
			continue // as in Argo CD
		}
		if merged.Spec, err = payload.WithGlobal(merged.Spec, global.Spec); err != nil {
			return nil, fmt.Errorf("add global AppProject %s to AppProject %s: %w", name, project.Name, err)
		}
	}
	return &merged, nil
}

// globalProjects returns the setting of the hub's Argo CD with its global projects, or "".
func globalProjects(ctx context.Context, from getter, namespace string) (string, error) {
	settings, err := readObject(ctx, from, types.NamespacedName{Namespace: namespace, Name: argocd.ConfigMapName}, &corev1.ConfigMap{})
	if settings == nil || err != nil {
		return "", err
	}
	return settings.Data[argocd.GlobalProjectsKey], nil
}

// globalProjectsChanged accepts changes of the global projects of the Argo CD in a namespace.
func globalProjectsChanged(namespace string) predicate.Predicate {
	setting := func(o client.Object) string {
		settings, ok := o.(*corev1.ConfigMap)
		if !ok || settings.Namespace != namespace || settings.Name != argocd.ConfigMapName {
			return ""
		}
		return settings.Data[argocd.GlobalProjectsKey]
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return setting(e.Object) != "" },
		DeleteFunc: func(e event.DeleteEvent) bool { return setting(e.Object) != "" },
		UpdateFunc: func(e event.UpdateEvent) bool { return setting(e.ObjectOld) != setting(e.ObjectNew) },
	}
}
