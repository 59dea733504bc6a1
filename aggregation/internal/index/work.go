// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Work is what is kept of a ManifestWork, in the informer's cache and here: some
// hundred bytes instead of some thousand, most of them shared between works.
type Work struct {
	// Namespace is the managed cluster's name.
	Namespace, Name, resourceVersion string

	// Set is the owning ApplicationSet; empty when the work is none of ours.
	Set types.NamespacedName
	// HubNamespace and HubName are the Application's on the hub.
	HubNamespace, HubName string
	// AppNamespace is the Application's on the managed cluster, where it has the same
	// name, once the agent has said it.
	AppNamespace string
	// Leaving: the work is being withdrawn.
	Leaving bool

	Facts status.Facts
}

// GetObjectMeta tells an informer what it asks for; it is made when asked, since
// an ObjectMeta in each work would be half of its size.
func (w *Work) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, ResourceVersion: w.resourceVersion}
}

var _ metav1.ObjectMetaAccessor = &Work{}

// Compact is the transform of the ManifestWork cache: it puts a [Work] in the place
// of each ManifestWork, which it trims. What the managed cluster wrote, metadata
// included, is bounded here, before anything is kept. Anything else it returns as it is.
func Compact(object any) (any, error) {
	full, ok := object.(*workv1.ManifestWork)
	if !ok {
		return object, nil
	}
	rejected := status.Trim(&full.Status)
	hubNamespace := contract.Name(full.Annotations[contract.HubNamespaceAnnotation], &rejected)
	hubName := contract.Name(full.Annotations[contract.HubNameAnnotation], &rejected)
	w := &Work{
		Namespace:       intern(full.Namespace),
		Name:            full.Name,
		resourceVersion: full.ResourceVersion,
		HubNamespace:    intern(hubNamespace),
		HubName:         within(full.Name, hubName),
		Leaving:         full.DeletionTimestamp != nil,
		Facts:           status.Read(full),
	}
	w.Facts.Intern(intern)
	if pulled, _ := contract.IsTrue(full.Labels[contract.PullLabel]); pulled {
		if namespace, name, ok := contract.SplitKey(full.Annotations[contract.HostingAnnotation]); ok {
			w.Set = types.NamespacedName{Namespace: intern(contract.Name(namespace, &rejected)), Name: intern(contract.Name(name, &rejected))}
		}
	}
	for i := range full.Status.ResourceStatus.Manifests {
		if r := &full.Status.ResourceStatus.Manifests[i].ResourceMeta; r.Group == argocd.Group && r.Resource == argocd.ApplicationPlural && r.Name == w.HubName {
			w.AppNamespace = intern(contract.Name(r.Namespace, &rejected))
		}
	}
	count(&rejected)
	return w, nil
}

func intern(s string) string { return unique.Make(s).Value() }

// within returns s as a part of whole when it is one: a work's name begins with
// the Application's.
func within(whole, s string) string {
	if strings.HasPrefix(whole, s) {
		return whole[:len(s)]
	}
	return s
}

func (w *Work) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
}

func (w *Work) cluster() string { return w.Namespace }

// onCluster is where the Application is delivered to; without a namespace it is not
// known yet.
func (w *Work) onCluster() place { return place{w.Namespace, w.AppNamespace, w.HubName} }

// app is the identity of the row.
func (w *Work) app() merge.App {
	return merge.App{HubNamespace: w.HubNamespace, HubName: w.HubName, Cluster: w.Namespace, Work: w.Name}
}

// application is the hub Application.
func (w *Work) application() types.NamespacedName {
	return types.NamespacedName{Namespace: w.HubNamespace, Name: w.HubName}
}

// sameApplication reports whether another version of the work still makes the
// same row of the same report.
func (w *Work) sameApplication(o *Work) bool {
	return w.Set == o.Set && w.HubNamespace == o.HubNamespace && w.HubName == o.HubName
}
