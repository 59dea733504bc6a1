// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// GitOpsCluster registers the clusters of a Placement with an Argo CD of the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=goc
// +kubebuilder:metadata:annotations="apps.open-cluster-management.io/provided-by=multicluster-integrations"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters.registered`
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.clusters.connected`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.status.mode`
// +kubebuilder:printcolumn:name="Principal",type=string,JSONPath=`.status.principal.address`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GitOpsCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec GitOpsClusterSpec `json:"spec"`
	// +optional
	Status GitOpsClusterStatus `json:"status,omitempty"`
}

// GitOpsClusterList is a list of GitOpsClusters.
//
// +kubebuilder:object:root=true
type GitOpsClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GitOpsCluster `json:"items"`
}

// GitOpsClusterSpec is in one of two shapes: argoServer with an optional gitopsAddon, or
// argoCDAgentAddon.
//
// +kubebuilder:validation:XValidation:rule="!has(self.argoCDAgentAddon) || (!has(self.argoServer) && !has(self.gitopsAddon))",message="argoCDAgentAddon excludes argoServer and gitopsAddon: keep one shape and remove the fields of the other"
// +kubebuilder:validation:XValidation:rule="has(self.argoServer) || has(self.argoCDAgentAddon)",message="argoServer or argoCDAgentAddon is required: say which Argo CD the clusters are registered with"
// +kubebuilder:validation:XValidation:rule=`(has(self.argoServer) && has(self.argoServer.argoNamespace) ? self.argoServer.argoNamespace : "") == (has(oldSelf.argoServer) && has(oldSelf.argoServer.argoNamespace) ? oldSelf.argoServer.argoNamespace : "")`,message="argoServer.argoNamespace is immutable: create another GitOpsCluster for another Argo CD"
type GitOpsClusterSpec struct {
	// ArgoServer is the Argo CD of the hub that learns of the clusters.
	// +optional
	ArgoServer *ArgoServerSpec `json:"argoServer,omitempty"`
	// PlacementRef names a Placement in the namespace of this object; its namespace field
	// is not read.
	// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind == 'Placement'",message="kind must be Placement"
	PlacementRef corev1.ObjectReference `json:"placementRef"`
	// ManagedServiceAccountRef is of the push model and not used.
	// +optional
	ManagedServiceAccountRef string `json:"managedServiceAccountRef,omitempty"`
	// CreateBlankClusterSecrets is what this project always does: Secrets without credentials.
	// +optional
	CreateBlankClusterSecrets *bool `json:"createBlankClusterSecrets,omitempty"`
	// CreatePolicyTemplate is of the push model and not used.
	// +optional
	CreatePolicyTemplate *bool `json:"createPolicyTemplate,omitempty"`
	// GitOpsAddon asks for something on the clusters, beside argoServer.
	// +optional
	GitOpsAddon *GitOpsAddonSpec `json:"gitopsAddon,omitempty"`
	// ArgoCDAgentAddon asks for argocd-agent on the clusters, with the Argo CD of this
	// object's namespace.
	// +optional
	ArgoCDAgentAddon *ArgoCDAgentAddonSpec `json:"argoCDAgentAddon,omitempty"`
	// Agent holds settings of argocd-agent that count with either shape, and in the
	// namespace of the hub's Argo CD only: they grant rights.
	// +optional
	Agent *AgentSettings `json:"agent,omitempty"`
	// Principal names what is otherwise found, and counts in the namespace of the hub's
	// Argo CD only.
	// +optional
	Principal *PrincipalSpec `json:"principal,omitempty"`
}

// AgentSettings are what argocd-agent runs with on the clusters, beyond mode and address.
type AgentSettings struct {
	// AllowedNamespaces are namespaces of the hub whose Applications the agents take, beside
	// that of Argo CD, as shell patterns: ["*"] for all. The principal has a setting of the
	// same name, which has to allow them, too.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*?-]+$`
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`
	// CreateNamespace has the agents create the namespace of an Application that a cluster
	// does not have.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// ClusterRole on the clusters is what the hub's UI may do there through the agents: view
	// for live resources, one of your own for resource actions, too. Kubernetes' cluster-admin,
	// admin and edit are refused: they read every Secret. Empty: nothing, or view with
	// annotation live-view.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9.:-]*[a-z0-9])?)?$`
	ClusterRole string `json:"clusterRole,omitempty"`
	// KeepAlive is the interval at which agents ping the principal, 30s or more, so that a
	// load balancer keeps idle connections and a dead one is found; empty: none.
	// +optional
	KeepAlive *metav1.Duration `json:"keepAlive,omitempty"`
	// Redis of the clusters' Argo CD; empty: as in Argo CD's own manifests.
	// +optional
	Redis *AgentRedis `json:"redis,omitempty"`
}

// AgentRedis is where argocd-agent finds the Redis of a cluster's Argo CD.
type AgentRedis struct {
	// Address as host:port; empty: argocd-redis:6379.
	// +optional
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9.-]+:[0-9]+)?$`
	Address string `json:"address,omitempty"`
	// SecretName and SecretKey of the password, in the namespace of Argo CD; empty:
	// argocd-redis and auth.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretKey string `json:"secretKey,omitempty"`
	// CASecretName is a Secret there with the CA of Redis; set: Redis is spoken to over TLS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CASecretName string `json:"caSecretName,omitempty"`
}

// PrincipalSpec names a principal that is not called as its installers call it.
type PrincipalSpec struct {
	// Service and Deployment in the namespace of the hub's Argo CD.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Deployment string `json:"deployment,omitempty"`
	// AgentImage is what the agents run; empty: the principal's own image, which they follow.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	AgentImage string `json:"agentImage,omitempty"`
}

// ArgoServerSpec names an Argo CD of the hub.
type ArgoServerSpec struct {
	// ArgoNamespace is the namespace of Argo CD and its cluster Secrets; empty: this object's own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ArgoNamespace string `json:"argoNamespace,omitempty"`
	// Cluster is not read.
	// +optional
	Cluster string `json:"cluster,omitempty"`
}

// GitOpsAddonSpec asks for something on the clusters.
type GitOpsAddonSpec struct {
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// GitOpsOperatorImage is not used: no operator is installed.
	// +optional
	GitOpsOperatorImage string `json:"gitOpsOperatorImage,omitempty"`
	// OverrideExistingConfigs is not used.
	// +optional
	OverrideExistingConfigs *bool `json:"overrideExistingConfigs,omitempty"`
	// OLMSubscription is not used: no operator is installed.
	// +optional
	OLMSubscription *OLMSubscriptionSpec `json:"olmSubscription,omitempty"`
	// ArgoCDAgent asks for argocd-agent on the clusters.
	// +optional
	ArgoCDAgent *ArgoCDAgentSpec `json:"argoCDAgent,omitempty"`
}

// OLMSubscriptionSpec is kept and not used.
type OLMSubscriptionSpec struct {
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	Channel string `json:"channel,omitempty"`
	// +optional
	Source string `json:"source,omitempty"`
	// +optional
	SourceNamespace string `json:"sourceNamespace,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	InstallPlanApproval string `json:"installPlanApproval,omitempty"`
}

// ArgoCDAgentSpec is argocd-agent in the words of gitopsAddon.
type ArgoCDAgentSpec struct {
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// ServerAddress of the principal; empty: found, see status.principal.
	// +optional
	ServerAddress string `json:"serverAddress,omitempty"`
	// +optional
	ServerPort string `json:"serverPort,omitempty"`
	// Mode is managed, which is also the meaning of empty, or autonomous.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self in ["", "managed", "autonomous"]`,message="mode must be managed or autonomous"
	// +kubebuilder:validation:MaxLength=63
	Mode string `json:"mode,omitempty"`
	// PropagateHubCA is not used: agents always get the CA of their principal.
	// +optional
	PropagateHubCA *bool `json:"propagateHubCA,omitempty"`
}

// ArgoCDAgentAddonSpec is argocd-agent in the other words.
type ArgoCDAgentAddonSpec struct {
	// PrincipalServerAddress; empty: found, see status.principal.
	// +optional
	PrincipalServerAddress string `json:"principalServerAddress,omitempty"`
	// +optional
	PrincipalServerPort string `json:"principalServerPort,omitempty"`
	// Mode is managed or autonomous.
	// +optional
	// +kubebuilder:default=managed
	// +kubebuilder:validation:XValidation:rule=`self in ["", "managed", "autonomous"]`,message="mode must be managed or autonomous"
	// +kubebuilder:validation:MaxLength=63
	Mode string `json:"mode,omitempty"`
	// OperatorNamespace is not used: no operator is installed.
	// +optional
	OperatorNamespace string `json:"operatorNamespace,omitempty"`
	// AgentNamespace is the namespace of Argo CD on the managed clusters; empty: argocd.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// ArgoCDCRManifestWork holds what else is delivered with the agent.
	// +optional
	ArgoCDCRManifestWork *ArgoCDCRManifestWorkSpec `json:"argoCDCRManifestWork,omitempty"`
}

// ArgoCDCRManifestWorkSpec is an Argo CD of the user's own for the clusters.
type ArgoCDCRManifestWorkSpec struct {
	// Manifests are whole objects.
	// +kubebuilder:validation:MinItems=1
	Manifests []runtime.RawExtension `json:"manifests"`
}
