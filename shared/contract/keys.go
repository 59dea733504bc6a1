// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// KeyPrefix is the prefix of every label and annotation key of the pull model.
const KeyPrefix = group

const group = "apps.open-cluster-management.io/"

// These are keys on a hub Application. Source: the pull model's Application contract.
const (
	// PullLabel requests pull delivery if its value is a true boolean (see [IsTrue]). Every
	// ManifestWork that we write also has it, with value "true".
	PullLabel = group + "pull-to-ocm-managed-cluster"
	// ClusterAnnotation names the target ManagedCluster.
	ClusterAnnotation = group + "ocm-managed-cluster"
	// AppNamespaceAnnotation names the Application's namespace on the managed cluster. The default
	// is the namespace of the hub Application.
	AppNamespaceAnnotation = group + "ocm-managed-cluster-app-namespace"
	// DestinationNameAnnotation overrides spec.destination.name of the delivered Application.
	DestinationNameAnnotation = group + "destination-name"
	// DestinationServerAnnotation overrides spec.destination.server of the delivered Application.
	DestinationServerAnnotation = group + "destination-server"
	// DeletionPolicyAnnotation on an Application, ApplicationSet or GitOpsCluster sets what happens
	// to the delivered objects when a delivery is removed. "prune", the default, removes them.
	// "orphan" leaves them running. "abandon", alone or after a comma, releases a deleted
	// Application or GitOpsCluster without waiting for its clusters.
	DeletionPolicyAnnotation = group + "deletion-policy"
	// ManagementPolicyAnnotation sets what happens to an Application that already exists on the
	// managed cluster. By default it is taken over. "no-takeover" leaves fields of other writers
	// alone. "observe" delivers nothing and reports the state of the Application.
	ManagementPolicyAnnotation = group + "management-policy"
)

// SubscribeAnnotationPrefix with "<trigger>.<service>" subscribes to notifications of the managed
// cluster's Argo CD. The keys of Argo CD itself on a hub Application are for the hub's Argo CD.
const SubscribeAnnotationPrefix = group + "subscribe."

// OnWithdrawAnnotation is "orphan" on a work that leaves its delivered objects on the cluster.
const OnWithdrawAnnotation = group + "on-withdraw"

// OnWithdrawByAnnotation is "set" on such a work if the ApplicationSet has the policy, and not the
// Application.
const OnWithdrawByAnnotation = group + "on-withdraw-by"

// ObservedAnnotation is "true" on a work that only observes its Application.
const ObservedAnnotation = group + "observed"

// PausedAnnotation on an Application, ApplicationSet, Namespace or ManagedCluster keeps
// ManifestWorks unchanged. Its values are "delivery" and "sync", optionally with "until <RFC
// 3339>". On a work it is "sync" if its Application must not sync by itself, followed by the
// removed spec.syncPolicy.automated.
const PausedAnnotation = group + "paused"

// PauseClaim is the name of the ClusterClaim by which a managed cluster pauses its deliveries. It
// has a value of [PausedAnnotation].
const PauseClaim = "pause.apps.open-cluster-management.io"

// DeletionBudgetAnnotation overrides the deletion budget: "approve until <RFC 3339>", or hold, or
// undo. It is set on an ApplicationSet, on a Namespace of Applications, or on propagation's
// Namespace for the whole hub.
const DeletionBudgetAnnotation = group + "deletion-budget"

// ArgoCDURLAnnotation on a ManagedCluster is the https address of its Argo CD. The page of the
// fleet has links to it.
const ArgoCDURLAnnotation = group + "argocd-url"

// These are keys on a ManifestWork. Some are also on the Application in it.
const (
	// ApplicationSetLabel is "true" on works and delivered Applications of an ApplicationSet.
	// Search finds pulled Applications by it.
	ApplicationSetLabel = group + "application-set"
	// ApplicationSetHashLabel holds the value of [ApplicationSetHash].
	ApplicationSetHashLabel = group + "application-set-hash"
	// HubNamespaceAnnotation holds the hub Application's namespace.
	HubNamespaceAnnotation = group + "hub-application-namespace"
	// HubNameAnnotation holds the hub Application's name.
	HubNameAnnotation = group + "hub-application-name"
	// HubUIDAnnotation holds the hub Application's UID on a work that was adopted. The name of such
	// a work comes from an earlier UID. No other work has the annotation.
	HubUIDAnnotation = group + "hub-application-uid"
	// HostingAnnotation holds "<namespace>/<name>" of the owning ApplicationSet, on the work and on
	// the delivered Application. The search collector reads it.
	HostingAnnotation = group + "hosting-applicationset"
	// ChangeGenerationAnnotation holds, on a work, the metadata.generation of its last change other
	// than a request. A request (operation, refresh) runs once. So its removal does not count as a
	// change that the managed cluster still has to apply.
	ChangeGenerationAnnotation = group + "change-generation"
	// StoredSpecAnnotation is on a work if the API server stores another spec than was written:
	// "<hash of the written one>/<hash of the stored one>".
	StoredSpecAnnotation = group + "stored-spec"
	// ApplicationSpecAnnotation holds, on a work, the hash of the hub Application's spec that it
	// delivers. If the Application has another hash, the change is not delivered. A work without
	// the annotation is from an earlier version.
	ApplicationSpecAnnotation = group + "application-spec-hash"
	// RequestAnnotation names the one-time request (operation, refresh) that a work and its
	// Application carry at present.
	RequestAnnotation = group + "request"
)

// WorkKeys are the label and annotation keys of a ManifestWork. The first ones name its
// Application.
var WorkKeys = []string{
	PullLabel, HubNamespaceAnnotation, HubNameAnnotation, HubUIDAnnotation, ChangeGenerationAnnotation,
	RequestAnnotation, HostingAnnotation, ApplicationSetLabel, ApplicationSetHashLabel, ApplicationSpecAnnotation,
	OnWithdrawAnnotation, OnWithdrawByAnnotation, ObservedAnnotation, StoredSpecAnnotation, PausedAnnotation,
}

// These are keys on other objects.
const (
	// ReportLabel on a MulticlusterApplicationSetReport holds "<namespace>.<name>" of its
	// ApplicationSet, shortened by [LabelValue]. Its key equals [HostingAnnotation].
	ReportLabel = HostingAnnotation
	// RowsLeftOutAnnotation on a report holds how many rows did not fit, as a decimal number. The
	// summary counts them. Without the annotation no row is missing.
	RowsLeftOutAnnotation = group + "rows-left-out"
	// ResourcesLeftOutAnnotation on a report holds how many resources did not fit.
	ResourcesLeftOutAnnotation = group + "resources-left-out"
	// RegisteredLabel is "true" on an Argo CD cluster Secret that we write.
	RegisteredLabel = group + "acm-cluster"
	// RegisteredNameLabel holds the ManagedCluster's name on that Secret.
	RegisteredNameLabel = group + "cluster-name"
	// RegisteredByAnnotation holds [RegisteredBy] on that Secret. The labels do not prove its
	// owner, because other controllers of a hub set the same ones.
	RegisteredByAnnotation = group + "registered-by"
	RegisteredBy           = "multicluster-integrations"
	// CopiedLabelsAnnotation holds, on that Secret, the keys of the labels that were copied from
	// the ManagedCluster, sorted and separated by commas. Only those are removed when the
	// ManagedCluster does not have them any more.
	CopiedLabelsAnnotation = group + "copied-labels"
	// GitOpsClustersAnnotation holds, on that Secret, "<namespace>/<name>" of the GitOpsClusters
	// that need it, sorted and separated by commas.
	GitOpsClustersAnnotation = group + "gitopsclusters"
	// ConfigDigestAnnotation holds, on that Secret, the SHA-256 of its config. No cache has the
	// config.
	ConfigDigestAnnotation = group + "config-digest"
	// LocalClusterLabel is "true" on the ManagedCluster that is the hub itself (see [IsHub]).
	LocalClusterLabel = "local-cluster"
	// LocalClusterName is OCM's default name of that ManagedCluster, and search's name of the hub.
	LocalClusterName = "local-cluster"
)
