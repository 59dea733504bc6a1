// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// MaxManifestBytes is the size of all additional manifests of an agent. It leaves room for our own
// manifests in one ManifestWork: a hub accepts 500 KiB by default.
const MaxManifestBytes = 400 << 10

// maxManifests is the number of additional manifests.
const maxManifests = 50

// addManifests adds the user's manifests. They stay when the work is deleted: removing the agent
// must not remove Argo CD from a cluster.
func (b *builder) addManifests(w Desired) error {
	size := 0
	for i, raw := range w.Manifests {
		size += len(raw)
		if i >= maxManifests || size > MaxManifestBytes {
			return fmt.Errorf("%w: there are %d of them; deliver more than %d, or than %d KiB, by a ManifestWork of your own",
				ErrBadManifests, len(w.Manifests), maxManifests, MaxManifestBytes>>10)
		}
		if err := b.addManifest(w, i, raw); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addManifest(w Desired, i int, raw []byte) error {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &o.Object); err != nil || o.GetAPIVersion() == "" || o.GetKind() == "" || o.GetName() == "" {
		return fmt.Errorf("%w: manifest %d is no object with apiVersion, kind and metadata.name", ErrBadManifests, i)
	}
	if isArgoCD(o) {
		if err := disableAgent(o, w); err != nil {
			return fmt.Errorf("%w: manifest %d, ArgoCD %s: %w", ErrBadManifests, i, o.GetName(), err)
		}
	}
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	id := id(resource.Group, resource.Resource, o.GetNamespace(), o.GetName())
	if id == namespaceID(w) {
		b.remove(id) // it has more fields of the namespace than ours
	}
	if b.has(id) || isOurs(id, w) {
		return fmt.Errorf("%w: manifest %d is %s %s/%s, which is there already; remove it", ErrBadManifests, i, o.GetKind(), o.GetNamespace(), o.GetName())
	}
	b.orphan(o.Object, id)
	return b.err
}

// remove takes a manifest out again.
func (b *builder) remove(id workv1.ResourceIdentifier) {
	i := slices.IndexFunc(b.spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool { return c.ResourceIdentifier == id })
	b.spec.Workload.Manifests = slices.Delete(b.spec.Workload.Manifests, i, i+1)
	b.spec.ManifestConfigs = slices.Delete(b.spec.ManifestConfigs, i, i+1)
	b.orphans = slices.DeleteFunc(b.orphans, func(o workv1.OrphaningRule) bool { return workv1.ResourceIdentifier(o) == id })
}

// has reports whether a manifest is in the work already.
func (b *builder) has(id workv1.ResourceIdentifier) bool {
	return slices.ContainsFunc(b.spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool { return c.ResourceIdentifier == id })
}

// isOurs reports whether the work contains a manifest anyway.
func isOurs(manifest workv1.ResourceIdentifier, w Desired) bool {
	switch manifest.Name {
	case AddOnName, liveViewName, accessName(w.Settings.ClusterRole):
		return manifest.Group == "rbac.authorization.k8s.io" || manifest.Resource == "serviceaccounts" || manifest == id("apps", "deployments", w.AgentNamespace, DeploymentName)
	case SettingsName:
		return manifest == id("", "configmaps", w.AgentNamespace, SettingsName)
	case CASecretName, ClientSecretName:
		return manifest == id("", "secrets", w.AgentNamespace, manifest.Name)
	}
	return false
}

func isArgoCD(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().Group == argocd.Group && o.GetKind() == "ArgoCD"
}

// disableAgent makes an ArgoCD deploy no agent. The agent of argocd-operator would have the same
// name at the principal as the agent that the work delivers.
func disableAgent(o *unstructured.Unstructured, w Desired) error {
	if o.GetNamespace() == "" {
		o.SetNamespace(w.AgentNamespace)
	}
	path := []string{"spec", "argoCDAgent", "agent", "enabled"}
	enabled, found, err := unstructured.NestedBool(o.Object, path...)
	if err != nil || !found || !enabled {
		return err
	}
	return unstructured.SetNestedField(o.Object, false, path...)
}
