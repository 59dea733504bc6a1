// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Types has the resource and the scope of each kind without an API server, because the managed
// cluster's cannot be read. It includes the kinds of Kubernetes itself. CustomResourceDefinitions
// in the same render and the Application's parameters add others.
type Types struct {
	resources     map[schema.GroupKind]string
	clusterScoped map[schema.GroupKind]bool
}

// NewTypes returns the types for these manifests and parameters. Kinds are written "Kind.group", or
// "Kind" in the core group.
func NewTypes(manifests []Manifest, plurals map[string]string, clusterScoped []string) *Types {
	t := &Types{
		// The one kind of Kubernetes' own for which the general rule does not hold.
		resources:     map[schema.GroupKind]string{{Kind: "Endpoints"}: "endpoints"},
		clusterScoped: map[schema.GroupKind]bool{},
	}
	for group, kinds := range builtInClusterScoped {
		for kind := range strings.FieldsSeq(kinds) {
			t.clusterScoped[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	for i := range manifests {
		t.addDefinition(&manifests[i])
	}
	for kind, plural := range plurals {
		t.resources[schema.ParseGroupKind(kind)] = plural
	}
	for _, kind := range clusterScoped {
		t.clusterScoped[schema.ParseGroupKind(kind)] = true
	}
	return t
}

func (t *Types) addDefinition(m *Manifest) {
	if !m.IsDefinition() {
		return
	}
	spec := child(m.Object, "spec")
	names := child(spec, "names")
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	gk := schema.GroupKind{Group: group, Kind: kind}
	if plural, _ := names["plural"].(string); plural != "" {
		t.resources[gk] = plural
	}
	t.clusterScoped[gk] = spec["scope"] == "Cluster"
}

// Resource returns the resource of a kind, such as "deployments". Without better
// knowledge it is the usual plural of the kind.
func (t *Types) Resource(gk schema.GroupKind) string {
	if resource := t.resources[gk]; resource != "" {
		return resource
	}
	kind := strings.ToLower(gk.Kind)
	if len(kind) > 1 && strings.HasSuffix(kind, "y") && strings.ContainsRune("aeiou", rune(kind[len(kind)-2])) {
		return kind + "s" // gateways
	}
	plural, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	return plural.Resource
}

// IsGuessed reports whether the resource of a kind is neither of Kubernetes' own nor
// named by a definition or a parameter.
func (t *Types) IsGuessed(gk schema.GroupKind) bool {
	return t.resources[gk] == "" && builtInClusterScoped[gk.Group] == "" && !slices.Contains(builtInNamespaced, gk.Group)
}

// IsClusterScoped reports whether a kind is known as cluster-scoped.
func (t *Types) IsClusterScoped(gk schema.GroupKind) bool { return t.clusterScoped[gk] }

// IsDefinition reports whether the object is a CustomResourceDefinition.
func (m *Manifest) IsDefinition() bool {
	return m.Group == "apiextensions.k8s.io" && m.Kind == "CustomResourceDefinition"
}

// holdsData reports whether deleting the object deletes data outside its manifest. Such data are
// data of a volume, or all objects of a namespace or of a custom kind.
func (m *Manifest) holdsData() bool {
	return m.IsNamespace() || m.IsDefinition() || m.Group == "" && (m.Kind == "PersistentVolumeClaim" || m.Kind == "PersistentVolume")
}

// IsNamespace reports whether the object is a Namespace.
func (m *Manifest) IsNamespace() bool { return m.Group == "" && m.Kind == "Namespace" }

// GroupKind returns the object's group and kind.
func (m *Manifest) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: m.Group, Kind: m.Kind}
}

// builtInNamespaced are Kubernetes' own groups without a kind in builtInClusterScoped.
var builtInNamespaced = []string{"apps", "autoscaling", "batch", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "policy"}

// builtInClusterScoped are Kubernetes' own kinds outside namespaces, by group.
var builtInClusterScoped = map[string]string{
	"":                             "ComponentStatus Namespace Node PersistentVolume",
	"admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
	"apiextensions.k8s.io":         "CustomResourceDefinition",
	"apiregistration.k8s.io":       "APIService",
	"authentication.k8s.io":        "SelfSubjectReview TokenReview",
	"authorization.k8s.io":         "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
	"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
	"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
	"networking.k8s.io":            "IPAddress IngressClass ServiceCIDR",
	"node.k8s.io":                  "RuntimeClass",
	"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
	"resource.k8s.io":              "DeviceClass DeviceTaintRule ResourceSlice",
	"scheduling.k8s.io":            "PriorityClass",
	"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
	"storagemigration.k8s.io":      "StorageVersionMigration",
}
