// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Inputs are the content of one ManifestWork.
type Inputs struct {
	Application *argocd.Application
	// Project is delivered with the Application, unless it is nil.
	Project *argocd.AppProject
	// ProjectNamespace is the namespace of the project on the managed cluster.
	ProjectNamespace string
	// CreateNamespace delivers the Namespace of the Application as well.
	CreateNamespace bool
	// Orphan keeps the delivered objects on the cluster when the work is deleted.
	Orphan bool
	// BySet is true if the ApplicationSet asks for Orphan.
	BySet bool
	// HasAgent makes an argocd-agent on the managed cluster ignore the delivered Application.
	HasAgent bool
	// InstanceLabel is the label key by which the hub's Argo CD tracks resources, or empty for its
	// default.
	InstanceLabel string
	Request       request.Request
}

// These are the words of the deletion-policy annotation.
const (
	DeletionPrune   = "prune"   // remove the delivered objects, as without the annotation
	DeletionOrphan  = "orphan"  // keep it on the cluster, without the hub
	DeletionAbandon = "abandon" // do not wait for the clusters of a deleted Application
)

// These are the values of the management-policy annotation. They apply to an Application that
// already exists on the managed cluster. Without the annotation it is taken over.
const (
	// ManagementNoTakeover applies only fields that no other client has set to another value.
	ManagementNoTakeover = "no-takeover"
	// ManagementObserve delivers nothing and reports the existing Application.
	ManagementObserve = "observe"
)

// Observes reports whether an Application is only observed on its managed cluster.
func Observes(app *argocd.Application) bool {
	return app.Annotations[contract.ManagementPolicyAnnotation] == ManagementObserve
}

// takesOver reports whether fields that other clients have set are taken over.
func takesOver(app *argocd.Application) bool {
	return app.Annotations[contract.ManagementPolicyAnnotation] != ManagementNoTakeover
}
