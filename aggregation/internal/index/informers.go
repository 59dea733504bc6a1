// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// generated selects the ManifestWorks of Applications that an ApplicationSet made.
var generated = labels.SelectorFromSet(labels.Set{contract.ApplicationSetLabel: "true"})

// slimWork is a ManifestWork as far as package manifestcache keeps it.
type slimWork struct {
	Metadata slim.Meta                 `json:"metadata"`
	Status   workv1.ManifestWorkStatus `json:"status"`
}

// Informers returns the constructor of the informers of a cache with [Caches], for its NewInformer.
// others are the sources of further kinds.
func Informers(config *rest.Config, others ...slim.Source) (slim.Constructor, error) {
	resource := schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	works, err := slim.NewSource(config, resource, func(w *slimWork) *workv1.ManifestWork {
		return &workv1.ManifestWork{ObjectMeta: w.Metadata.ObjectMeta, Status: w.Status}
	}, client.MatchingLabelsSelector{Selector: generated})
	if err != nil {
		return nil, err
	}
	clusters, err := slim.ManagedClusters(config)
	if err != nil {
		return nil, err
	}
	return slim.Informers(append(others, works, clusters)...), nil
}
