// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// liveViewName is the binding to the role by which the hub's UI reads resources.
const liveViewName = AddOnName + "-live-view"

// accessName returns the name of the binding to a role. The role of a binding cannot be
// changed: another one has another binding, and the work agent removes the first.
func accessName(role string) string {
	if role == "view" {
		return liveViewName
	}
	return liveViewName + "-" + role
}

// Objects that another installer might have, too, have the names that argocd-agent
// gives them, so that the conflict shows. Rights would merge unseen: theirs have a name
// of our own.

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: podLabels()}
}

func typeMeta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func namespace(w Desired) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: w.AgentNamespace}}
}

func serviceAccount(w Desired) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: objectMeta(w.AgentNamespace, AddOnName)}
}

// everyVerb returns the verbs that the agent uses. Verbs that Kubernetes adds later are not among
// them.
func everyVerb() []string {
	return []string{"create", "get", "list", "watch", "update", "patch", "delete"}
}

func role(w Desired) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta: typeMeta(rbacv1.SchemeGroupVersion.String(), "Role"), ObjectMeta: objectMeta(w.AgentNamespace, AddOnName),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{argocd.Group}, Resources: []string{"applications", "appprojects", "applicationsets"}, Verbs: everyVerb()},
			{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: everyVerb()},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "list"}},
		},
	}
}

// clusterRole lets the agent watch Applications in every namespace that destination mapping uses.
// It also lets the agent watch namespaces, for which the agent waits at its start, and create them
// if it is configured to.
func clusterRole(w Desired) *rbacv1.ClusterRole {
	namespaces := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}
	if w.Mode == ModeManaged && w.Settings.CreateNamespace {
		namespaces.Verbs = append(namespaces.Verbs, "create")
	}
	rules := []rbacv1.PolicyRule{namespaces}
	if w.Mode == ModeManaged {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{argocd.Group}, Resources: []string{"applications"}, Verbs: everyVerb()})
	}
	return &rbacv1.ClusterRole{
		TypeMeta: typeMeta(rbacv1.SchemeGroupVersion.String(), "ClusterRole"), ObjectMeta: objectMeta("", AddOnName), Rules: rules,
	}
}

func roleBinding(w Desired) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: typeMeta(rbacv1.SchemeGroupVersion.String(), "RoleBinding"), ObjectMeta: objectMeta(w.AgentNamespace, AddOnName),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: AddOnName}, Subjects: subjects(w),
	}
}

func clusterRoleBinding(w Desired, name, role string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta: typeMeta(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding"), ObjectMeta: objectMeta("", name),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects(w),
	}
}

func subjects(w Desired) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.AgentNamespace, Name: AddOnName}}
}

func configMap(w Desired) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: objectMeta(w.AgentNamespace, SettingsName), Data: settingsFor(w),
	}
}

// caSecret only has certificates. The agent reads every key of it as certificates, and the CA's key
// never leaves the hub.
func caSecret(w Desired) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: typeMeta("v1", "Secret"), ObjectMeta: objectMeta(w.AgentNamespace, CASecretName),
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"ca.crt": w.CABundle},
	}
}

// clientSecret is only read.
func clientSecret(agentNamespace string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: typeMeta("v1", "Secret"), ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: ClientSecretName},
	}
}

// podLabels are the labels of the agent's own manifests.
func podLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      PodName,
		"app.kubernetes.io/part-of":   "argocd-agent",
		"app.kubernetes.io/component": "agent",
	}
}
