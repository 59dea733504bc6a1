// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const (
	// conditionAvailable of an add-on is written by who makes it.
	conditionAvailable = addonv1alpha1.ManagedClusterAddOnConditionAvailable
	// conditionRotated is written by the registration agent, just before the Secret.
	conditionRotated = "ClusterCertificateRotated"
)

// AddOn returns the add-on, without its status.
func AddOn(w Wanted) *addonv1alpha1.ManagedClusterAddOn {
	return &addonv1alpha1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Cluster, Name: AddOnName,
			Labels: map[string]string{OwnedLabel: "true"},
			Annotations: map[string]string{
				contract.RegisteredByAnnotation: contract.RegisteredBy,
				OwnerAnnotation:                 w.Owner.String(),
				ArgoNamespaceAnnotation:         w.ArgoNamespace,
			},
		},
		Spec: addonv1alpha1.ManagedClusterAddOnSpec{InstallNamespace: w.AgentNamespace},
	}
}

// InstallNamespace returns the agent's namespace on the managed cluster. An add-on
// manager would make the field of a configuration; ours has none.
func InstallNamespace(a *addonv1alpha1.ManagedClusterAddOn) string {
	return a.Spec.InstallNamespace
}

// Registrations is what has the registration agent ask for the client certificate.
func Registrations(w Wanted) []addonv1alpha1.RegistrationConfig {
	return []addonv1alpha1.RegistrationConfig{{
		SignerName: SignerName,
		Subject:    addonv1alpha1.Subject{User: w.Cluster, Groups: []string{Group(w.Generation)}},
	}}
}

// requestedGeneration returns the generation that an add-on requests, 0 for none.
func requestedGeneration(a *addonv1alpha1.ManagedClusterAddOn) int {
	if a == nil || len(a.Status.Registrations) != 1 || len(a.Status.Registrations[0].Subject.Groups) != 1 {
		return 0
	}
	generation, _ := Generation(a.Status.Registrations[0].Subject.Groups[0])
	return generation
}

// HealthCheck keeps the registration agent from waiting for a lease of the agent's.
func HealthCheck() addonv1alpha1.HealthCheck {
	return addonv1alpha1.HealthCheck{Mode: addonv1alpha1.HealthCheckModeCustomized}
}

// Available returns the add-on's condition. While the cluster is unavailable, OCM reports Unknown,
// and this project reports nothing.
func Available(s State) (metav1.Condition, bool) {
	c := metav1.Condition{Type: conditionAvailable, Status: metav1.ConditionFalse, Reason: s.Reason, Message: s.Message}
	if s.Connected {
		c.Status = metav1.ConditionTrue
	}
	return c, s.Reason != ReasonClusterUnavailable
}

// IsOurs reports whether an add-on or a work was made by this package.
func IsOurs(o metav1.Object) bool {
	return o.GetAnnotations()[contract.RegisteredByAnnotation] == contract.RegisteredBy
}
