// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Inputs is everything that goes into one ManifestWork.
type Inputs struct {
	Application *argocd.Application
	// Project travels with the Application unless nil.
	Project *argocd.AppProject
	// ProjectNamespace is where the project goes on the managed cluster.
	ProjectNamespace string
	// CreateNamespace: the Application's namespace travels too.
	CreateNamespace bool
	// Orphan: what is delivered stays when the work is deleted.
	Orphan bool
	// HasAgent: an agent of argocd-agent on the managed cluster is to leave the copy alone.
	HasAgent bool
	// InstanceLabel is the label key that the hub's Argo CD is configured to track resources
	// by, empty for its default.
	InstanceLabel string
	Request       request.Request
}

// Words of the deletion-policy annotation.
const (
	DeletionPrune   = "prune"   // what is delivered goes, as without the annotation
	DeletionOrphan  = "orphan"  // it stays, and the hub has no part in it any more
	DeletionAbandon = "abandon" // a deleted Application does not wait for its clusters
)

// Values of the management-policy annotation: what becomes of an Application that is on the managed
// cluster already. Without it, it is taken over.
const (
	// ManagementNoTakeover applies only what no other client has set otherwise.
	ManagementNoTakeover = "no-takeover"
	// ManagementObserve delivers nothing and reads what is there.
	ManagementObserve = "observe"
)

// Observes reports whether an Application is read on its managed cluster, not delivered.
func Observes(app *argocd.Application) bool {
	return app.Annotations[contract.ManagementPolicyAnnotation] == ManagementObserve
}

// takesOver reports whether fields that others have set become the hub's.
func takesOver(app *argocd.Application) bool {
	return app.Annotations[contract.ManagementPolicyAnnotation] != ManagementNoTakeover
}
