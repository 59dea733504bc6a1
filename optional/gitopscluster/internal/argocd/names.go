// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Names on the hub, in the namespace of a ManagedCluster.
const (
	// WorkName is the name of the ManifestWork that delivers Argo CD, and of the ArgoCD
	// that it delivers to an operator: one called argocd would be an installation whose
	// operator deletes the Deployment of argocd-agent.
	WorkName = "mci-argocd"

	// OwnedLabel is "true" on each of these works.
	OwnedLabel = contract.KeyPrefix + "argocd"
	// OwnerAnnotation holds "<namespace>/<name>" of the GitOpsCluster.
	OwnerAnnotation = contract.KeyPrefix + "gitopscluster"
	// DigestAnnotation holds a digest of what is delivered, on the work and on what runs:
	// by the latter feedback is known to be of this delivery. A work without it looks only.
	DigestAnnotation = contract.KeyPrefix + "argocd-digest"
	// SinceAnnotation holds when the work was last changed, in RFC 3339.
	SinceAnnotation = contract.KeyPrefix + "argocd-since"
)

// Ways to install Argo CD.
const (
	// InstallManifests delivers Argo CD itself.
	InstallManifests = "Manifests"
	// InstallOperator delivers an ArgoCD, for the operator that the cluster has.
	InstallOperator = "Operator"
)

// Names of Argo CD's own manifests.
const (
	controllerName = "argocd-application-controller"
	repoServerName = "argocd-repo-server"
	redisName      = "argocd-redis"
	settingsName   = "argocd-cm"
	// openshiftController is that of the Argo CD that OpenShift GitOps brings.
	openshiftController = "openshift-gitops-application-controller"
	// workAgentRole lets the work agent apply Applications, as deploy/examples/managed.
	workAgentRole = "multicluster-integrations:argocd"

	rbacGroup = "rbac.authorization.k8s.io"
	argoGroup = "argoproj.io"
	appsGroup = "apps"
)

// IsOurs reports whether an object is a work of this package.
func IsOurs(o metav1.Object) bool { return o.GetLabels()[OwnedLabel] == "true" }

func id(group, resource, namespace, name string) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{Group: group, Resource: resource, Namespace: namespace, Name: name}
}
