// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are names on the hub, in the namespace of a ManagedCluster.
const (
	// AddOnName is the name of the ManagedClusterAddOn, and of the ManifestWork that
	// delivers the agent. No ClusterManagementAddOn of this name may exist: an add-on
	// manager would take the add-on over.
	AddOnName = "mci-argocd-agent"
	// WorkName is the name of the ManifestWork that delivers the agent.
	WorkName = AddOnName
	// LeavingWorkName is the name of the ManifestWork that checks whether the client certificate's
	// Secret still exists.
	LeavingWorkName = AddOnName + "-leaving"
	// SignerName is the signer of the client certificates. Nothing else signs for it.
	SignerName = "open-cluster-management.io/mci-argocd-agent"
)

// These are the resources of these objects.
var (
	AddOns = schema.GroupVersionResource{Group: addonv1alpha1.GroupName, Version: "v1alpha1", Resource: "managedclusteraddons"}
	Works  = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
)

// These are keys on these objects.
const (
	// OwnedLabel is "true" on every add-on and work of ours.
	OwnedLabel = contract.KeyPrefix + "gitopscluster"
	// OwnerAnnotation holds "<namespace>/<name>" of the GitOpsCluster. The key is the
	// label's: a label's value has no room for a slash.
	OwnerAnnotation = OwnedLabel
	// ArgoNamespaceAnnotation holds the namespace of the hub's Argo CD. The CA of that Argo CD
	// signs.
	ArgoNamespaceAnnotation = contract.KeyPrefix + "argocd-namespace"
	// IssuedAnnotation on the add-on lists the last certificates that were issued, as
	// package pki writes it.
	IssuedAnnotation = contract.KeyPrefix + "issued-certificates"
	// ClientCertificateAnnotation on the work names the last known client certificate of the
	// managed cluster.
	ClientCertificateAnnotation = contract.KeyPrefix + "client-certificate"
	// CABundleAnnotation on the agent's pod template holds [Desired.BundleDigest].
	CABundleAnnotation = contract.KeyPrefix + "ca-bundle"
	// CertificatesAnnotation on a pod template holds a digest of the files that its process reads
	// once, at its start. The work has the digest of the template that it delivers.
	CertificatesAnnotation = contract.KeyPrefix + "certificates"
)

// These are names in the objects that OCM's registration agent creates for the add-on.
const (
	// CSRClusterLabel and CSRAddOnLabel are on each CertificateSigningRequest. They do not prove
	// who created it.
	CSRClusterLabel = "open-cluster-management.io/cluster-name"
	CSRAddOnLabel   = "open-cluster-management.io/addon-name"
	// CSRServerName is the one DNS name in a request.
	CSRServerName = AddOnName + ".addon.open-cluster-management.io"
	// ClientSecretName is the Secret (of type Opaque, keys tls.crt and tls.key) in the
	// agent's namespace on the managed cluster.
	ClientSecretName = AddOnName + "-open-cluster-management.io-mci-argocd-agent-client-cert"
)

// DeploymentName is the agent's Deployment on the managed cluster. argocd-operator deletes
// <ArgoCD>-agent-agent if that ArgoCD has no agent enabled, whoever created the Deployment.
const DeploymentName = AddOnName

// Names that argocd-agent has.
const (
	// CASecretName is the Secret with the CA on the hub (signing, with its key) and on
	// the managed cluster (certificates only).
	CASecretName = "argocd-agent-ca" //nolint:gosec // a name
	// PodName is the name of the agent's container and its pods' label: NetworkPolicies of
	// argocd-agent admit it to Redis.
	PodName = "argocd-agent-agent"
	// SettingsName is the ConfigMap with the agent's settings.
	SettingsName = "argocd-agent-params"
	// ModeManaged and ModeAutonomous are the agent's modes.
	ModeManaged    = "managed"
	ModeAutonomous = "autonomous"
)

// Group returns the group, and so the subject's organisation, of a generation of the client
// certificate. If the generation rises, the registration agent renews the certificate.
func Group(generation int) string { return "g" + strconv.Itoa(generation) }

// Generation returns the generation that a group names.
func Generation(group string) (int, bool) {
	digits, found := strings.CutPrefix(group, "g")
	n, err := strconv.Atoi(digits)
	return n, found && err == nil && n > 0 && Group(n) == group
}

func id(group, resource, namespace, name string) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{Group: group, Resource: resource, Namespace: namespace, Name: name}
}

func namespaceID(w Desired) workv1.ResourceIdentifier {
	return id("", "namespaces", "", w.AgentNamespace)
}

func clientSecretID(agentNamespace string) workv1.ResourceIdentifier {
	return id("", "secrets", agentNamespace, ClientSecretName)
}
