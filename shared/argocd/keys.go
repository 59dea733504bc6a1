// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

// These are keys and values that have a meaning in Argo CD. They are repeated here because Argo
// CD's packages that export them depend on a Redis and a gRPC client. The conformance test compares
// them with the originals.
const (
	// SkipReconcileAnnotation makes the hub's own Argo CD skip an Application if its value is a
	// true boolean (see [SkipsReconcile]).
	SkipReconcileAnnotation = "argocd.argoproj.io/skip-reconcile"
	// RefreshAnnotation asks Argo CD to compare again. Argo CD removes it after that.
	RefreshAnnotation = "argocd.argoproj.io/refresh"
	// HydrateAnnotation accompanies a refresh that a user of Argo CD requests, and is removed with
	// it.
	HydrateAnnotation = "argocd.argoproj.io/hydrate"
	// ResourcesFinalizer makes Argo CD prune an Application's resources on delete.
	ResourcesFinalizer = "resources-finalizer.argocd.argoproj.io"
	// ForegroundFinalizer and BackgroundFinalizer do the same and set the propagation policy.
	ForegroundFinalizer = ResourcesFinalizer + "/foreground"
	BackgroundFinalizer = ResourcesFinalizer + "/background"
	// PostDeleteFinalizer makes Argo CD run the PostDelete hooks. PostDeleteCleanupFinalizer makes
	// it remove them.
	PostDeleteFinalizer        = "post-delete-finalizer.argocd.argoproj.io"
	PostDeleteCleanupFinalizer = PostDeleteFinalizer + "/cleanup"
	// SecretTypeLabel with SecretTypeCluster marks a Secret as a cluster of Argo CD.
	SecretTypeLabel   = "argocd.argoproj.io/secret-type" //nolint:gosec // a label key
	SecretTypeCluster = "cluster"
	// KeyPrefix is the prefix of label and annotation keys that have a meaning in Argo CD.
	KeyPrefix = "argocd.argoproj.io/"
	// AgentKeyPrefix is the prefix of argocd-agent's keys. Its principal finds an agent by a
	// cluster Secret with AgentNameLabel. IgnoreSyncLabel with value "true" makes principal and
	// agents ignore an object.
	AgentKeyPrefix  = "argocd-agent.argoproj-labs.io/"
	AgentNameLabel  = AgentKeyPrefix + "agent-name"
	IgnoreSyncLabel = AgentKeyPrefix + "ignore-sync"
	// InstanceLabel is the label by which Argo CD tracks the resources of an Application, unless
	// application.instanceLabelKey in argocd-cm names another one.
	InstanceLabel = "app.kubernetes.io/instance"
	// TrackingIDAnnotation does the same. InstallationIDAnnotation identifies the Argo CD that
	// tracks.
	TrackingIDAnnotation     = KeyPrefix + "tracking-id"
	InstallationIDAnnotation = KeyPrefix + "installation-id"
	// NotifiedAnnotationPrefix is the prefix of the keys under which the notifications controller
	// stores sent notifications.
	NotifiedAnnotationPrefix = "notified." + notifications
	// NotificationsKeyPrefix is the prefix of the keys by which an Application subscribes to
	// notifications. SubscribeAnnotationPrefix is the prefix of those that end in
	// "<trigger>.<service>".
	NotificationsKeyPrefix    = notifications + "/"
	SubscribeAnnotationPrefix = NotificationsKeyPrefix + "subscribe."
	// ConfigMapName is the ConfigMap with the settings of an Argo CD, in its namespace.
	// GlobalProjectsKey is its key with the global projects.
	ConfigMapName     = "argocd-cm"
	GlobalProjectsKey = "globalProjects"
	// InClusterServer is the API server of the cluster on which Argo CD runs. InClusterName is Argo
	// CD's name for that cluster.
	InClusterName   = "in-cluster"
	InClusterServer = "https://kubernetes.default.svc"
	// DefaultProject is the AppProject that every Argo CD has.
	DefaultProject = "default"
)

const notifications = "notifications.argoproj.io"

// Health status codes. Source: health.HealthStatusCode of Argo CD's gitops-engine.
const (
	HealthUnknown     = "Unknown"
	HealthProgressing = "Progressing"
	HealthHealthy     = "Healthy"
	HealthSuspended   = "Suspended"
	HealthDegraded    = "Degraded"
	HealthMissing     = "Missing"
)

// Sync status codes. Source: SyncStatusCode of Argo CD v2.
const (
	SyncUnknown   = "Unknown"
	SyncSynced    = "Synced"
	SyncOutOfSync = "OutOfSync"
)

// Operation phases. Source: OperationPhase of Argo CD's gitops-engine.
const (
	OperationRunning     = "Running"
	OperationTerminating = "Terminating"
	OperationFailed      = "Failed"
	OperationError       = "Error"
	OperationSucceeded   = "Succeeded"
)

// ComparisonError is the condition type of an Application that Argo CD could not compare.
const ComparisonError = "ComparisonError"

// HasFailed reports whether an operation has ended in this phase without success.
func HasFailed(phase string) bool { return phase == OperationFailed || phase == OperationError }
