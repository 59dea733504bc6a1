// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

// Keys and values that Argo CD gives a meaning to. They are spelled here because
// the packages of Argo CD that export them bring a Redis and a gRPC client along;
// the conformance test holds them against the real ones.
const (
	// SkipReconcileAnnotation keeps the hub's own Argo CD off an Application when it is
	// a true boolean (see [SkipsReconcile]).
	SkipReconcileAnnotation = "argocd.argoproj.io/skip-reconcile"
	// RefreshAnnotation asks Argo CD to compare again; it removes it when it has.
	RefreshAnnotation = "argocd.argoproj.io/refresh"
	// HydrateAnnotation comes with a refresh that a user of Argo CD asks for, and goes with it.
	HydrateAnnotation = "argocd.argoproj.io/hydrate"
	// ResourcesFinalizer makes Argo CD prune an Application's resources on delete.
	ResourcesFinalizer = "resources-finalizer.argocd.argoproj.io"
	// ForegroundFinalizer and BackgroundFinalizer do the same, and say how.
	ForegroundFinalizer = ResourcesFinalizer + "/foreground"
	BackgroundFinalizer = ResourcesFinalizer + "/background"
	// PostDeleteFinalizer makes Argo CD run the hooks for after the deletion, and
	// PostDeleteCleanupFinalizer makes it remove them.
	PostDeleteFinalizer        = "post-delete-finalizer.argocd.argoproj.io"
	PostDeleteCleanupFinalizer = PostDeleteFinalizer + "/cleanup"
	// SecretTypeLabel with SecretTypeCluster marks a Secret as a cluster of Argo CD.
	SecretTypeLabel   = "argocd.argoproj.io/secret-type" //nolint:gosec // a label key
	SecretTypeCluster = "cluster"
	// KeyPrefix begins the label and annotation keys that Argo CD gives a meaning to.
	KeyPrefix = "argocd.argoproj.io/"
	// AgentKeyPrefix begins those of argocd-agent. Its principal knows an agent by a cluster
	// Secret with AgentNameLabel; IgnoreSyncLabel with "true" makes an object invisible to
	// principal and agents.
	AgentKeyPrefix  = "argocd-agent.argoproj-labs.io/"
	AgentNameLabel  = AgentKeyPrefix + "agent-name"
	IgnoreSyncLabel = AgentKeyPrefix + "ignore-sync"
	// InstanceLabel is the label by which Argo CD tracks what belongs to an
	// Application, unless application.instanceLabelKey in argocd-cm names another.
	InstanceLabel = "app.kubernetes.io/instance"
	// TrackingIDAnnotation does the same, and InstallationIDAnnotation says by which Argo CD.
	TrackingIDAnnotation     = KeyPrefix + "tracking-id"
	InstallationIDAnnotation = KeyPrefix + "installation-id"
	// NotifiedAnnotationPrefix begins the keys by which the notifications controller
	// remembers what it has sent.
	NotifiedAnnotationPrefix = "notified." + notifications
	// NotificationsKeyPrefix begins the keys by which an Application subscribes to notifications,
	// SubscribeAnnotationPrefix those with "<trigger>.<service>" behind it.
	NotificationsKeyPrefix    = notifications + "/"
	SubscribeAnnotationPrefix = NotificationsKeyPrefix + "subscribe."
	// ConfigMapName is the name of the settings of an Argo CD, in its namespace, and
	// GlobalProjectsKey the setting with its global projects.
	ConfigMapName     = "argocd-cm"
	GlobalProjectsKey = "globalProjects"
	// InClusterServer is the API server that Argo CD itself runs on, and InClusterName is
	// what Argo CD calls that cluster.
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

// ComparisonError is the type of the condition of an Application that could not be compared.
const ComparisonError = "ComparisonError"

// HasFailed reports whether a phase is the end of an operation that did not succeed.
func HasFailed(phase string) bool { return phase == OperationFailed || phase == OperationError }
