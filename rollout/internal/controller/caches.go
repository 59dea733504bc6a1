// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// maxSpec is the most bytes of an Application's spec that are looked at; propagation
// delivers none that is larger.
const maxSpec = 500 * 1024

// generated selects the ManifestWorks of Applications that an ApplicationSet made.
var generated = labels.SelectorFromSet(labels.Set{contract.PullLabel: "true", contract.ApplicationSetLabel: "true"})

// Informers returns what makes the informers of a cache with [Caches], for its NewInformer: the
// kinds of which there is one for each Application are decoded as far as they are read.
func Informers(config *rest.Config) (slim.Constructor, error) {
	type slimWork struct {
		Metadata slim.Meta                 `json:"metadata"`
		Status   workv1.ManifestWorkStatus `json:"status"`
	}
	type slimApplication struct {
		Metadata slim.Meta       `json:"metadata"`
		Spec     json.RawMessage `json:"spec"`
	}
	works, err := slim.NewSource(config, schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}, generated, func(w *slimWork) *workv1.ManifestWork {
		return &workv1.ManifestWork{ObjectMeta: w.Metadata.ObjectMeta, Status: w.Status}
	})
	if err != nil {
		return nil, err
	}
	applications, err := slim.NewSource(config, argocd.GroupVersion.WithResource(argocd.ApplicationPlural), nil, func(a *slimApplication) *argocd.Application {
		return &argocd.Application{ObjectMeta: a.Metadata.ObjectMeta, Spec: a.Spec}
	})
	if err != nil {
		return nil, err
	}
	return slim.Informers(works, applications), nil
}

// Caches returns what [Setup] watches, for the options of the manager's cache.
func Caches() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&rollout.ApplicationSetRollout{}:    {},
		&argocd.Application{}:               {Transform: trimApplication},
		&workv1.ManifestWork{}:              {Label: generated, Transform: trimWork},
		&clusterv1.ManagedCluster{}:         {Transform: trimCluster},
		&clusterv1beta1.PlacementDecision{}: {},
		applicationSet():                    {Transform: trimSet},
	}
}

// trimmed is the status of an Application that was trimmed, by its address: client-go transforms
// an object that it lists by a watch twice.
var trimmed = json.RawMessage(`{}`)

// trimApplication keeps of an Application whose it is, where it goes and whether it is only
// observed, its sources and the hash of its content, as annotation [contract.RolloutAnnotation]:
// each look reads those of all.
func trimApplication(in any) (any, error) {
	app, ok := in.(*argocd.Application)
	if !ok || len(app.Status) > 0 && &app.Status[0] == &trimmed[0] {
		return in, nil
	}
	app.Status, app.Operation = nil, nil
	if out, err := manifestcache.TrimApplication(maxSpec)(in); err != nil || app.Spec == nil {
		return out, err
	}
	annotations := map[string]string{contract.ClusterAnnotation: app.Annotations[contract.ClusterAnnotation], contract.RolloutAnnotation: rollout.Content(app)}
	if policy, there := app.Annotations[contract.ManagementPolicyAnnotation]; there {
		annotations[contract.ManagementPolicyAnnotation] = policy
	}
	if sources, several, err := rollout.Sources(app.Spec); err == nil { // otherwise it is said why
		kept := map[string]any{"source": sources[0]}
		if several {
			kept = map[string]any{"sources": sources}
		}
		if app.Spec, err = json.Marshal(kept); err != nil {
			return nil, err
		}
	}
	app.Annotations, app.Status = annotations, trimmed
	return app, nil
}

// trimWork keeps, of what a work reports, also when its Application was last compared.
func trimWork(in any) (any, error) {
	full, ok := in.(*workv1.ManifestWork)
	if !ok {
		return in, nil
	}
	work, _ := manifestcache.Compact(full, nil)
	for i := range full.Status.ResourceStatus.Manifests {
		m := &full.Status.ResourceStatus.Manifests[i]
		if f, reported := contract.ParseFeedback(m.StatusFeedbacks.Values); reported && m.ResourceMeta.Name == work.HubName {
			extra := *work.Extra
			extra.Values = append(slices.Clip(extra.Values), manifestcache.Value{Name: contract.FeedbackReconciledAt, Text: f.ReconciledAt})
			work.Extra = &extra
			break
		}
	}
	return work, nil
}

// trimCluster keeps what [status.ClusterOf] reads.
func trimCluster(in any) (any, error) {
	if c, ok := in.(*clusterv1.ManagedCluster); ok {
		c.ManagedFields, c.Labels, c.Annotations, c.Spec = nil, nil, nil, clusterv1.ManagedClusterSpec{}
		status.TrimCluster(&c.Status)
	}
	return in, nil
}

func applicationSet() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind))
	return u
}

// trimSet keeps the type of an ApplicationSet's strategy.
func trimSet(in any) (any, error) {
	set, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	kept := applicationSet()
	kept.SetNamespace(set.GetNamespace())
	kept.SetName(set.GetName())
	kept.SetUID(set.GetUID())
	kept.SetResourceVersion(set.GetResourceVersion())
	strategy, _, _ := unstructured.NestedString(set.Object, "spec", "strategy", "type") // anything else is no RollingSync
	return kept, unstructured.SetNestedField(kept.Object, strategy, "spec", "strategy", "type")
}
