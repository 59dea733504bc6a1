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

// GitOpsClusterSpec has one of two forms: argoServer with an optional gitopsAddon, or
// argoCDAgentAddon.
//
// +kubebuilder:validation:XValidation:rule="!has(self.argoCDAgentAddon) || (!has(self.argoServer) && !has(self.gitopsAddon))",message="argoCDAgentAddon excludes argoServer and gitopsAddon: keep one shape and remove the fields of the other"
// +kubebuilder:validation:XValidation:rule="has(self.argoServer) || has(self.argoCDAgentAddon)",message="argoServer or argoCDAgentAddon is required: say which Argo CD the clusters are registered with"
// +kubebuilder:validation:XValidation:rule=`(has(self.argoServer) && has(self.argoServer.argoNamespace) ? self.argoServer.argoNamespace : "") == (has(oldSelf.argoServer) && has(oldSelf.argoServer.argoNamespace) ? oldSelf.argoServer.argoNamespace : "")`,message="argoServer.argoNamespace is immutable: create another GitOpsCluster for another Argo CD"
type GitOpsClusterSpec struct {
	// ArgoServer names the Argo CD on the hub that gets the clusters' Secrets.
	// +optional
	ArgoServer *ArgoServerSpec `json:"argoServer,omitempty"`
	// PlacementRef names a Placement in the namespace of this object. Its namespace field
	// is ignored.
	// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind == 'Placement'",message="kind must be Placement"
	PlacementRef corev1.ObjectReference `json:"placementRef"`
	// ManagedServiceAccountRef belongs to the push model and is ignored.
	// +optional
	ManagedServiceAccountRef string `json:"managedServiceAccountRef,omitempty"`
	// CreateBlankClusterSecrets is ignored: cluster Secrets never contain credentials.
	// +optional
	CreateBlankClusterSecrets *bool `json:"createBlankClusterSecrets,omitempty"`
	// CreatePolicyTemplate belongs to the push model and is ignored.
	// +optional
	CreatePolicyTemplate *bool `json:"createPolicyTemplate,omitempty"`
	// GitOpsAddon installs argocd-agent on the clusters. It requires argoServer.
	// +optional
	GitOpsAddon *GitOpsAddonSpec `json:"gitopsAddon,omitempty"`
	// ArgoCDAgentAddon installs argocd-agent on the clusters, for the Argo CD in the
	// namespace of this object.
	// +optional
	ArgoCDAgentAddon *ArgoCDAgentAddonSpec `json:"argoCDAgentAddon,omitempty"`
	// Agent has settings of argocd-agent for either form. They grant rights, so they take
	// effect only in the namespace of the hub's Argo CD.
	// +optional
	Agent *AgentSettings `json:"agent,omitempty"`
	// Principal names the principal if its objects do not have their usual names. It takes
	// effect only in the namespace of the hub's Argo CD.
	// +optional
	Principal *PrincipalSpec `json:"principal,omitempty"`
}

// AgentSettings are settings of argocd-agent on the clusters.
type AgentSettings struct {
	// AllowedNamespaces are the hub's namespaces, besides Argo CD's, whose Applications the
	// agents accept. They are shell patterns; ["*"] allows all. The setting of the same name
	// of the principal has to allow them, too.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*?-]+$`
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`
	// CreateNamespace lets the agents create the namespace of an Application if the cluster
	// does not have it.
	// +optional
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// ClusterRole on the clusters has the rights of the hub's UI there. Use view for live
	// resources, and your own ClusterRole for resource actions. cluster-admin, admin and edit
	// are rejected because they can read every Secret. If empty, the UI has no rights, or
	// those of view with annotation live-view.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9.:-]*[a-z0-9])?)?$`
	ClusterRole string `json:"clusterRole,omitempty"`
	// KeepAlive is the interval at which agents ping the principal, at least 30s, such as
	// 1m30s. With it a load balancer keeps idle connections, and agents detect dead ones. If
	// empty, agents send no pings.
	// +optional
	KeepAlive string `json:"keepAlive,omitempty"`
	// Redis is the Redis of the clusters' Argo CD. Defaults to that of Argo CD's own
	// manifests.
	// +optional
	Redis *AgentRedis `json:"redis,omitempty"`
}

// AgentRedis has the address and the password of the Redis of a cluster's Argo CD.
type AgentRedis struct {
	// Address is host:port. Defaults to argocd-redis:6379.
	// +optional
	// +kubebuilder:validation:MaxLength=259
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9.-]+:[0-9]+)?$`
	Address string `json:"address,omitempty"`
	// SecretName is the Secret with the password, in the namespace of Argo CD. Defaults to
	// argocd-redis.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// SecretKey is the key of the password. Defaults to auth.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretKey string `json:"secretKey,omitempty"`
	// CASecretName is a Secret with the CA of Redis, in the same namespace. If set, the agent
	// connects to Redis over TLS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CASecretName string `json:"caSecretName,omitempty"`
}

// PrincipalSpec names a principal whose objects do not have their usual names.
type PrincipalSpec struct {
	// Service is the Service of the principal, in the namespace of the hub's Argo CD.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service,omitempty"`
	// Deployment is the Deployment of the principal, in the same namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Deployment string `json:"deployment,omitempty"`
	// AgentImage is the image of the agents. Defaults to the image of the principal.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	AgentImage string `json:"agentImage,omitempty"`
}

// ArgoServerSpec names an Argo CD on the hub.
type ArgoServerSpec struct {
	// ArgoNamespace is the namespace of Argo CD and its cluster Secrets. Defaults to the
	// namespace of this object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ArgoNamespace string `json:"argoNamespace,omitempty"`
	// Cluster is ignored.
	// +optional
	Cluster string `json:"cluster,omitempty"`
}

// GitOpsAddonSpec installs argocd-agent on the clusters.
type GitOpsAddonSpec struct {
	// Enabled has to be true for argoCDAgent to take effect.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// GitOpsOperatorImage is ignored: no operator is installed.
	// +optional
	GitOpsOperatorImage string `json:"gitOpsOperatorImage,omitempty"`
	// OverrideExistingConfigs is ignored.
	// +optional
	OverrideExistingConfigs *bool `json:"overrideExistingConfigs,omitempty"`
	// OLMSubscription is ignored: no operator is installed.
	// +optional
	OLMSubscription *OLMSubscriptionSpec `json:"olmSubscription,omitempty"`
	// ArgoCDAgent has the address and the mode of argocd-agent.
	// +optional
	ArgoCDAgent *ArgoCDAgentSpec `json:"argoCDAgent,omitempty"`
}

// OLMSubscriptionSpec is stored and ignored.
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

// ArgoCDAgentSpec has the settings of argocd-agent in the form of gitopsAddon.
type ArgoCDAgentSpec struct {
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// ServerAddress is the address of the principal. If empty, it is detected; status.principal
	// shows it.
	// +optional
	ServerAddress string `json:"serverAddress,omitempty"`
	// +optional
	ServerPort string `json:"serverPort,omitempty"`
	// Mode is managed or autonomous. Defaults to managed.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self in ["", "managed", "autonomous"]`,message="mode must be managed or autonomous"
	// +kubebuilder:validation:MaxLength=63
	Mode string `json:"mode,omitempty"`
	// PropagateHubCA is ignored: agents always get the CA of their principal.
	// +optional
	PropagateHubCA *bool `json:"propagateHubCA,omitempty"`
}

// ArgoCDAgentAddonSpec installs argocd-agent in the form without argoServer.
type ArgoCDAgentAddonSpec struct {
	// PrincipalServerAddress is the address of the principal. If empty, it is detected;
	// status.principal shows it.
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
	// OperatorNamespace is ignored: no operator is installed.
	// +optional
	OperatorNamespace string `json:"operatorNamespace,omitempty"`
	// AgentNamespace is the namespace of Argo CD on the managed clusters. Defaults to argocd.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	AgentNamespace string `json:"agentNamespace,omitempty"`
	// ArgoCDCRManifestWork has manifests that are delivered together with the agent.
	// +optional
	ArgoCDCRManifestWork *ArgoCDCRManifestWorkSpec `json:"argoCDCRManifestWork,omitempty"`
}

// ArgoCDCRManifestWorkSpec has manifests for the clusters, such as an Argo CD.
type ArgoCDCRManifestWorkSpec struct {
	// Manifests are complete Kubernetes objects.
	// +kubebuilder:validation:MinItems=1
	Manifests []runtime.RawExtension `json:"manifests"`
}
