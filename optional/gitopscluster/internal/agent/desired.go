// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
)

// Desired is the desired agent on one managed cluster.
type Desired struct {
	Cluster string
	// Owner is the GitOpsCluster.
	Owner types.NamespacedName
	// ArgoNamespace is the namespace of the hub's Argo CD, AgentNamespace the one of the managed
	// cluster's Argo CD.
	ArgoNamespace, AgentNamespace string
	// Mode is [ModeManaged] or [ModeAutonomous].
	Mode string
	// Address and Port are where the principal is reached from the managed cluster.
	Address string
	Port    int32
	// Image is the principal's: agents of another version are refused by it.
	Image string
	// Config is the configuration of the add-on's Deployment, or nil.
	Config *addonv1alpha1.AddOnDeploymentConfigSpec
	// CABundle are the certificates, as PEM, of every CA that is trusted.
	CABundle []byte
	// BundleDigest identifies CABundle. The managed cluster reports it.
	BundleDigest string
	// Generation is the generation of the client certificate. The cluster renews the certificate if
	// the generation rises.
	Generation int
	// Settings are the settings in the GitOpsCluster.
	Settings v1beta1.AgentSettings
	// KeepAlive is the interval of the agent's pings. 0 means no pings.
	KeepAlive time.Duration
	// Manifests are additional manifests for the work. They stay unchanged, except that an ArgoCD
	// deploys no agent.
	Manifests [][]byte
}

// These are the waits of a cluster, in their order.
const (
	WaitsForWork              = "ManifestWork"
	WaitsForClientCertificate = "ClientCertificate"
	WaitsForDeployment        = "Deployment"
	WaitsForConnection        = "Connection"
)

// connectedReason is the reason of an agent that is well.
const connectedReason = "Connected"

// Reasons for which an agent is not connected.
const (
	ReasonAddOnNameTaken     = "AddOnNameTaken"
	ReasonNameNotAllowed     = "NameNotAllowed"
	ReasonImageUnknown       = "ImageUnknown"
	ReasonBadConfig          = "BadConfig"
	ReasonBadManifests       = "BadManifests"
	ReasonWorkNotApplied     = "WorkNotApplied"
	ReasonVersionMismatch    = "VersionMismatch"
	ReasonNotConnected       = "NotConnected"
	ReasonClusterUnavailable = "ClusterUnavailable"
)

// State is the state of the agent on one managed cluster.
type State struct {
	// WorkApplied is true if the work agent has applied the desired work.
	WorkApplied bool
	// ClientCertificate is true if the managed cluster has one of the desired generation.
	ClientCertificate bool
	// Deployed is true if the Deployment only runs the desired image with the desired settings and
	// certificates.
	Deployed bool
	// Connected is true if that agent reports that it is connected to the principal.
	Connected bool
	// Reason and Message explain why the agent is not connected, and name the remedy.
	Reason, Message string
	// WaitingFor is the first missing step, one of the constants above.
	WaitingFor string
}

// Write is a write that a dry run has not made.
type Write struct{ Verb, Kind, Namespace, Name, Why string }

// Certificate has the known properties of a client certificate.
type Certificate struct {
	// Fingerprint is its SHA-256 in upper-case hexadecimal.
	Fingerprint string
	// Generation is the generation for which the certificate was issued. It is 0 if gitopscluster
	// has not issued it.
	Generation int
	NotAfter   time.Time
}
