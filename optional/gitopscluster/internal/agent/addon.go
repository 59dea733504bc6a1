// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"k8s.io/apimachinery/pkg/api/meta"
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
func AddOn(w Desired) *addonv1alpha1.ManagedClusterAddOn {
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

// InstallNamespace returns the agent's namespace on the managed cluster. An add-on manager would
// set the field from a configuration, but gitopscluster uses no add-on manager.
func InstallNamespace(a *addonv1alpha1.ManagedClusterAddOn) string {
	return a.Spec.InstallNamespace
}

// Registrations returns the configuration by which the registration agent requests the client
// certificate.
func Registrations(w Desired) []addonv1alpha1.RegistrationConfig {
	return []addonv1alpha1.RegistrationConfig{{
		SignerName: SignerName,
		Subject:    addonv1alpha1.Subject{User: w.Cluster, Groups: []string{Group(w.Generation)}},
	}}
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

// Reported returns the state of an agent that its add-on's condition reports. It is the zero State if
// the add-on is nil or has no such condition.
func Reported(a *addonv1alpha1.ManagedClusterAddOn) State {
	if a == nil {
		return State{}
	}
	c := meta.FindStatusCondition(a.Status.Conditions, conditionAvailable)
	if c == nil {
		return State{}
	}
	connected := c.Status == metav1.ConditionTrue
	s := State{Connected: connected, Deployed: connected, Reason: c.Reason, Message: contract.Message(c.Message, &contract.Rejected{})}
	if !connected {
		s.WaitingFor = WaitsForWork
	}
	return s
}

// IsOurs reports whether an add-on or a work was made by this package.
func IsOurs(o metav1.Object) bool {
	return o.GetAnnotations()[contract.RegisteredByAnnotation] == contract.RegisteredBy
}
