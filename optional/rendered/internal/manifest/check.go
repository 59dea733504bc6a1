// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Place sets the namespace of namespaced objects without one, and removes the namespace of
// cluster-scoped objects.
func Place(manifests []Manifest, types *Types, namespace string) error {
	for i := range manifests {
		m := &manifests[i]
		switch {
		case types.IsClusterScoped(m.GroupKind()):
			m.SetNamespace("")
		case m.Namespace != "":
		case namespace != "":
			m.SetNamespace(namespace)
		default:
			return fmt.Errorf("parameter namespace: want the namespace on the managed cluster for %s, which names none (%s); "+
				"for a kind without namespaces set parameter cluster-scoped", m, m.Origin)
		}
	}
	return nil
}

// Check rejects manifests that must not or cannot be delivered: a Secret with data unless secrets
// are allowed, an object that delivers others, and duplicates.
func Check(manifests []Manifest, secretsAllowed bool) error {
	type key struct {
		schema.GroupKind
		namespace, name string
	}
	first := make(map[key]string, len(manifests))
	for i := range manifests {
		m := &manifests[i]
		if !secretsAllowed && m.isSecretWithData() {
			return fmt.Errorf("%s would stand unencrypted in the hub's ManifestWork and in Argo CD's UI: use an external or sealed secret", m)
		}
		if deliversOthers[m.GroupKind()] {
			return fmt.Errorf("%s: %s would deliver from the managed cluster, which has neither hub nor Argo CD: take it out of the source", m.Origin, m)
		}
		if option := m.confirmation(); option != "" {
			word, _, _ := strings.Cut(option, "=")
			return fmt.Errorf("%s: %s: rendered mode has no sync option %s: use %s=false", m.Origin, m, option, word)
		}
		k := key{m.GroupKind(), m.Namespace, m.Name}
		if origin, twice := first[k]; twice {
			return fmt.Errorf("%s: %s is already in %s", m.Origin, m, origin)
		}
		first[k] = m.Origin
	}
	return nil
}

// confirmation returns a sync option by which Argo CD waits for a user before it removes a
// resource. The agent removes each resource that leaves a ManifestWork, and waits for no user.
func (m *Manifest) confirmation() string {
	for _, option := range list(m.Annotation(argocd.SyncOptionsAnnotation)) {
		if option == "Prune=confirm" || option == "Delete=confirm" {
			return option
		}
	}
	return ""
}

func (m *Manifest) isSecretWithData() bool {
	return m.Group == "" && m.Kind == "Secret" && len(child(m.Object, "data"))+len(child(m.Object, "stringData")) > 0
}

var deliversOthers = map[schema.GroupKind]bool{
	{Group: "work.open-cluster-management.io", Kind: "ManifestWork"}:           true,
	{Group: "work.open-cluster-management.io", Kind: "ManifestWorkReplicaSet"}: true,
	{Group: "argoproj.io", Kind: "Application"}:                                true,
	{Group: "argoproj.io", Kind: "ApplicationSet"}:                             true,
}
