// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/pem"
	"fmt"
	"strings"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Work returns the ManifestWork that delivers the agent. certificate is the [CertificateName] of
// the managed cluster's client certificate. Every field that the API server would default is set,
// so that the stored spec equals the desired one.
func Work(w Desired, certificate string) (*workv1.ManifestWork, error) {
	if err := onlyCertificates(w.CABundle); err != nil {
		return nil, err
	}
	b := &builder{}
	b.addNamespace(w)
	if err := b.addManifests(w); err != nil {
		return nil, err
	}
	digest, err := digest(w, certificate)
	if err != nil {
		return nil, err
	}
	const rbac = "rbac.authorization.k8s.io"
	b.apply(serviceAccount(w), id("", "serviceaccounts", w.AgentNamespace, AddOnName))
	b.apply(role(w), id(rbac, "roles", w.AgentNamespace, AddOnName))
	b.apply(roleBinding(w), id(rbac, "rolebindings", w.AgentNamespace, AddOnName))
	b.apply(clusterRole(w), id(rbac, "clusterroles", "", AddOnName))
	b.apply(clusterRoleBinding(w, AddOnName, AddOnName), id(rbac, "clusterrolebindings", "", AddOnName))
	if role := w.Settings.ClusterRole; role != "" {
		name := accessName(role)
		b.apply(clusterRoleBinding(w, name, role), id(rbac, "clusterrolebindings", "", name))
	}
	b.apply(configMap(w), id("", "configmaps", w.AgentNamespace, SettingsName))
	b.apply(caSecret(w), id("", "secrets", w.AgentNamespace, CASecretName))
	b.apply(deployment(w, digest), id("apps", "deployments", w.AgentNamespace, DeploymentName), deploymentPaths()...)
	b.addReadOnly(clientSecret(w.AgentNamespace), clientSecretID(w.AgentNamespace))
	annotations := map[string]string{OwnerAnnotation: w.Owner.String(), ArgoNamespaceAnnotation: w.ArgoNamespace, CertificatesAnnotation: digest}
	if certificate != "" {
		annotations[ClientCertificateAnnotation] = certificate
	}
	return b.work(w.Cluster, WorkName, annotations)
}

// LeavingWork returns the ManifestWork that only reads the Secret that the registration agent
// created for an add-on.
func LeavingWork(addOn *addonv1alpha1.ManagedClusterAddOn) (*workv1.ManifestWork, error) {
	b := &builder{}
	b.addReadOnly(clientSecret(InstallNamespace(addOn)), clientSecretID(InstallNamespace(addOn)))
	annotations := map[string]string{}
	for _, key := range []string{OwnerAnnotation, ArgoNamespaceAnnotation} {
		annotations[key] = addOn.Annotations[key]
	}
	return b.work(addOn.Namespace, LeavingWorkName, annotations)
}

// onlyCertificates keeps whatever else a Secret of the hub may hold from leaving it.
func onlyCertificates(bundle []byte) error {
	rest := bundle
	for n := 0; ; n++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && n > 0 && strings.TrimSpace(string(rest)) == "":
			return nil
		case block == nil || block.Type != "CERTIFICATE":
			return fmt.Errorf("deliver Secret %s: want certificates as PEM and nothing else, at least one", CASecretName)
		}
	}
}
