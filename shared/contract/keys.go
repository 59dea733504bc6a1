// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

// KeyPrefix begins every label and annotation key of the pull model.
const KeyPrefix = group

const group = "apps.open-cluster-management.io/"

// Keys on a hub Application. Source: the pull model's Application contract.
const (
	// PullLabel asks for pull delivery when its value is a true boolean (see [IsTrue]).
	// It also marks every ManifestWork that we write, with value "true".
	PullLabel = group + "pull-to-ocm-managed-cluster"
	// ClusterAnnotation names the target ManagedCluster.
	ClusterAnnotation = group + "ocm-managed-cluster"
	// AppNamespaceAnnotation names the Application's namespace on the managed
	// cluster; without it the hub Application's own namespace is used.
	AppNamespaceAnnotation = group + "ocm-managed-cluster-app-namespace"
	// DestinationNameAnnotation overrides spec.destination.name in the delivered copy.
	DestinationNameAnnotation = group + "destination-name"
	// DestinationServerAnnotation overrides spec.destination.server in the delivered copy.
	DestinationServerAnnotation = group + "destination-server"
	// DeletionPolicyAnnotation on an Application, ApplicationSet or GitOpsCluster says what
	// becomes of what is delivered when its delivery ends: "prune", as without it, or "orphan",
	// which leaves it running. "abandon", alone or after a comma, releases a deleted Application
	// or GitOpsCluster without waiting for its clusters.
	DeletionPolicyAnnotation = group + "deletion-policy"
	// ManagementPolicyAnnotation says what becomes of an Application that is on the managed cluster
	// already: without it, it is taken over; "no-takeover" leaves it to its writer, and
	// "observe" does not deliver at all, but says how it is.
	ManagementPolicyAnnotation = group + "management-policy"
)

// SubscribeAnnotationPrefix with "<trigger>.<service>" behind it subscribes to notifications of
// the managed cluster's Argo CD. Argo CD's own keys on a hub Application are for the hub's.
const SubscribeAnnotationPrefix = group + "subscribe."

// OnWithdrawAnnotation is "orphan" on a work whose spec has what it delivers stay.
const OnWithdrawAnnotation = group + "on-withdraw"

// ObservedAnnotation is "true" on a work that only reads its Application.
const ObservedAnnotation = group + "observed"

// PausedAnnotation on an Application, ApplicationSet, Namespace or ManagedCluster keeps
// ManifestWorks as they are: "delivery" or "sync", optionally "until <RFC 3339>". It is
// "sync" on a work whose Application was made not to sync by itself, followed by the
// spec.syncPolicy.automated that was taken out.
const PausedAnnotation = group + "paused"

// PauseClaim is the name of a ClusterClaim by which a managed cluster pauses delivery to
// itself, with a value as [PausedAnnotation] has it.
const PauseClaim = "pause.apps.open-cluster-management.io"

// DeletionBudgetAnnotation on an ApplicationSet, on a Namespace of Applications, or on the
// Namespace of propagation (for the whole hub) says what is to become of withdrawals:
// "approve until <RFC 3339>", or hold, or undo.
const DeletionBudgetAnnotation = group + "deletion-budget"

// ArgoCDURLAnnotation on a ManagedCluster is the https address of its Argo CD, which the
// page of the fleet links to.
const ArgoCDURLAnnotation = group + "argocd-url"

// Keys on a ManifestWork, and on the Application inside it where noted.
const (
	// ApplicationSetLabel is "true" on works and delivered Applications that an
	// ApplicationSet owns; search finds pulled Applications by it.
	ApplicationSetLabel = group + "application-set"
	// ApplicationSetHashLabel holds the value of [ApplicationSetHash].
	ApplicationSetHashLabel = group + "application-set-hash"
	// HubNamespaceAnnotation holds the hub Application's namespace.
	HubNamespaceAnnotation = group + "hub-application-namespace"
	// HubNameAnnotation holds the hub Application's name.
	HubNameAnnotation = group + "hub-application-name"
	// HubUIDAnnotation holds the hub Application's UID on a work that was adopted:
	// one whose name was made from an earlier UID. No other work has it.
	HubUIDAnnotation = group + "hub-application-uid"
	// HostingAnnotation holds "<namespace>/<name>" of the owning ApplicationSet,
	// on the work and on the delivered Application (the search collector reads it).
	HostingAnnotation = group + "hosting-applicationset"
	// ChangeGenerationAnnotation holds, on a work, the metadata.generation at which
	// what it asks for last changed, requests that run once (operation, refresh)
	// left out. A work whose operation is taken out again is thereby not mistaken
	// for a change that the managed cluster has yet to apply.
	ChangeGenerationAnnotation = group + "change-generation"
	// StoredSpecAnnotation on a work is there when the API server does not store a
	// spec as it is written: "<hash of the written one>/<hash of the stored one>".
	StoredSpecAnnotation = group + "stored-spec"
	// ApplicationSpecAnnotation holds, on a work, the hash of the spec of the hub
	// Application that it delivers: while the Application has another one, the change is
	// not on its way. A work without it is from before it was written.
	ApplicationSpecAnnotation = group + "application-spec-hash"
	// RequestAnnotation names the one-time request (operation, refresh) that a work
	// and the Application inside it carry at the moment.
	RequestAnnotation = group + "request"
)

// WorkKeys are the label and annotation keys of a ManifestWork, those first that
// name the Application that it carries.
var WorkKeys = []string{
	PullLabel, HubNamespaceAnnotation, HubNameAnnotation, ChangeGenerationAnnotation, RequestAnnotation,
	HostingAnnotation, ApplicationSetLabel, ApplicationSetHashLabel, ApplicationSpecAnnotation,
}

// Keys on other objects.
const (
	// ReportLabel on a MulticlusterApplicationSetReport holds "<namespace>.<name>"
	// of its ApplicationSet, shortened by [LabelValue]. Same key as [HostingAnnotation].
	ReportLabel = HostingAnnotation
	// RowsLeftOutAnnotation on a report holds how many rows did not fit into it, as a
	// decimal number; the summary counts them. Without it every row is there.
	RowsLeftOutAnnotation = group + "rows-left-out"
	// ResourcesLeftOutAnnotation is the same for resources.
	ResourcesLeftOutAnnotation = group + "resources-left-out"
	// RegisteredLabel is "true" on an Argo CD cluster Secret that we write.
	RegisteredLabel = group + "acm-cluster"
	// RegisteredNameLabel holds the ManagedCluster's name on that Secret.
	RegisteredNameLabel = group + "cluster-name"
	// RegisteredByAnnotation holds [RegisteredBy] on that Secret. The labels do
	// not prove whose it is: other controllers of a hub set the same ones on theirs.
	RegisteredByAnnotation = group + "registered-by"
	RegisteredBy           = "multicluster-integrations"
	// CopiedLabelsAnnotation holds, on that Secret, the keys of the labels that we have
	// copied from the ManagedCluster, sorted and separated by commas: only those are
	// removed again when the ManagedCluster has them no longer.
	CopiedLabelsAnnotation = group + "copied-labels"
	// GitOpsClustersAnnotation holds, on that Secret, "<namespace>/<name>" of the
	// GitOpsClusters that want it, sorted and separated by commas.
	GitOpsClustersAnnotation = group + "gitopsclusters"
	// ConfigDigestAnnotation holds, on that Secret, the SHA-256 of its config, which no
	// cache keeps.
	ConfigDigestAnnotation = group + "config-digest"
	// LocalClusterLabel is "true" on the ManagedCluster that is the hub itself (see [IsHub]).
	LocalClusterLabel = "local-cluster"
	// LocalClusterName is what OCM calls that ManagedCluster by default,
	// and what search calls the hub.
	LocalClusterName = "local-cluster"
)
