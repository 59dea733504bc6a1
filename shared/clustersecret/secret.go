// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package clustersecret

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const (
	nameSuffix = "-cluster-secret"
	dataName   = "name"
	dataServer = "server"
	dataConfig = "config"

	digestPrefix = "sha256:"
)

// Name returns the name of a cluster's Secret.
func Name(cluster string) string { return contract.SafeName(cluster + nameSuffix) }

// Registrable reports whether a ManagedCluster has to be registered with Argo CD. The
// ManagedCluster exists, is accepted, is not being deleted and is not the hub itself.
func Registrable(cluster *clusterv1.ManagedCluster) bool {
	return cluster != nil && cluster.DeletionTimestamp.IsZero() && cluster.Spec.HubAcceptsClient &&
		!contract.IsHub(cluster.Name, cluster.Labels)
}

// IsOwn reports whether a Secret was written by this project.
func IsOwn(secret *corev1.Secret) bool {
	return secret.Annotations[contract.RegisteredByAnnotation] == contract.RegisteredBy
}

// secretFor returns the Secret of a cluster. instanceLabel is the label by which Argo CD tracks
// resources, or empty for its default.
func secretFor(cluster *clusterv1.ManagedCluster, namespace, instanceLabel string, want Desired) *corev1.Secret {
	labels := make(map[string]string, len(cluster.Labels)+3)
	for key, value := range cluster.Labels {
		if !argocdOwned(key, instanceLabel) {
			labels[key] = value
		}
	}
	copied := strings.Join(slices.Sorted(maps.Keys(labels)), ",")
	labels[argocd.SecretTypeLabel] = argocd.SecretTypeCluster
	labels[contract.RegisteredLabel] = "true"
	labels[contract.RegisteredNameLabel] = contract.LabelValue(cluster.Name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      Name(cluster.Name),
			Labels:    labels,
			Annotations: map[string]string{
				contract.RegisteredByAnnotation: contract.RegisteredBy,
				contract.CopiedLabelsAnnotation: copied,
			},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			dataName:   []byte(cluster.Name),
			dataServer: []byte(contract.RegisteredServer(cluster.Name)),
		},
	}
	if len(want.Holders) > 0 {
		secret.Annotations[contract.GitOpsClustersAnnotation] = strings.Join(want.Holders, ",")
	}
	if want.Agent != nil {
		labels[argocd.AgentNameLabel] = contract.LabelValue(cluster.Name)
		secret.Annotations[argocd.SkipReconcileAnnotation] = "true"
		secret.Annotations[contract.ConfigDigestAnnotation] = string(digest(want.Agent.Config))
		secret.Data[dataServer] = []byte(want.Agent.Server)
		secret.Data[dataConfig] = want.Agent.Config
	}
	return secret
}

// ofAnAgent reports whether a Secret has the content that we set for an agent. Its additional
// fields are removed together with that content. In another Secret they belong to the user.
func ofAnAgent(secret *corev1.Secret) bool {
	return secret.Annotations[contract.ConfigDigestAnnotation] != ""
}

// givenBefore reports whether we set an annotation that is not desired any more.
func givenBefore(existing *corev1.Secret) func(key string) bool {
	return func(key string) bool {
		switch key {
		case contract.GitOpsClustersAnnotation, contract.ConfigDigestAnnotation:
			return true
		case argocd.SkipReconcileAnnotation:
			return ofAnAgent(existing)
		}
		return false
	}
}

// digest replaces a config wherever it is stored or compared.
func digest(config []byte) []byte {
	sum := sha256.Sum256(config)
	return []byte(digestPrefix + hex.EncodeToString(sum[:]))
}

func isDigest(value []byte) bool {
	return bytes.HasPrefix(value, []byte(digestPrefix)) && len(value) == len(digestPrefix)+2*sha256.Size
}

// argocdOwned reports whether Argo CD interprets a label. On a ManagedCluster such a label is about
// the ManagedCluster. If the tracking label were copied, the Secret would become part of the
// Application that manages the ManagedCluster. This Application would prune the Secret, because the
// Secret is not in git.
func argocdOwned(key, instanceLabel string) bool {
	return key == argocd.InstanceLabel || key == instanceLabel || strings.HasPrefix(key, argocd.KeyPrefix) || strings.HasPrefix(key, argocd.AgentKeyPrefix)
}

// copiedBefore reports whether a label was copied from the ManagedCluster, which does not have it
// any more. Labels of other writers stay. Earlier versions have no list of copies: they copied
// every label, and removed all others except those that Argo CD adds. For the latter, only labels
// that the cluster still has count as copies.
func copiedBefore(existing *corev1.Secret, cluster map[string]string) func(key string) bool {
	list, listed := existing.Annotations[contract.CopiedLabelsAnnotation]
	copied := strings.Split(list, ",")
	return func(key string) bool {
		switch {
		case key == argocd.AgentNameLabel && ofAnAgent(existing):
			return true
		case listed:
			return slices.Contains(copied, key)
		case strings.HasPrefix(key, argocd.KeyPrefix):
			value, exists := cluster[key]
			return exists && value == existing.Labels[key]
		}
		return true
	}
}

// repairPatch returns the merge patch that changes the existing Secret into the desired one, or
// nil. cluster has the labels of the ManagedCluster.
func repairPatch(existing, want *corev1.Secret, cluster map[string]string) ([]byte, error) {
	labels := difference(existing.Labels, want.Labels, func(a, b string) bool { return a == b }, copiedBefore(existing, cluster))
	annotations := difference(existing.Annotations, want.Annotations, func(a, b string) bool { return a == b }, givenBefore(existing))
	data := difference(existing.Data, want.Data, sameData, func(string) bool { return true })
	if len(labels) == 0 && len(annotations) == 0 && len(data) == 0 {
		return nil, nil
	}
	metadata := map[string]any{"resourceVersion": existing.ResourceVersion}
	patch := map[string]any{"metadata": metadata}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if len(data) > 0 {
		patch["data"] = data
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch of Secret %s/%s: %w", existing.Namespace, existing.Name, err)
	}
	return raw, nil
}

// sameData compares a cached value with a desired one.
func sameData(existing, want []byte) bool {
	return bytes.Equal(existing, want) || bytes.Equal(existing, digest(want))
}

// difference returns the patch from existing to want, with nil for members to remove.
func difference[V any](existing, want map[string]V, same func(a, b V) bool, copiedBefore func(key string) bool) map[string]any {
	change := map[string]any{}
	for key, value := range want {
		if current, exists := existing[key]; !exists || !same(current, value) {
			change[key] = value
		}
	}
	for key := range existing {
		if _, exists := want[key]; !exists && copiedBefore(key) {
			change[key] = nil
		}
	}
	return change
}
