// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest parses the output of a rendering tool. A stream of YAML or JSON documents
// becomes a list of Kubernetes objects, in the form in which the API server stores them inside a
// ManifestWork.
package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// healthyWhenAnnotation on a manifest holds a CEL expression over its object for its health. It is
// not delivered to the managed cluster.
const healthyWhenAnnotation = contract.KeyPrefix + "healthy-when"

// Manifest is one Kubernetes object. The exported fields have values of Object.
type Manifest struct {
	Group, Version, Kind, Namespace, Name string

	Object map[string]any // numbers are json.Number, so that none changes
	Origin string         // where it was read, for messages: "app.yaml, document 2"
}

// String names the object in messages, such as "Deployment guestbook/ui".
func (m *Manifest) String() string {
	if m.Namespace == "" {
		return m.Kind + " " + m.Name
	}
	return m.Kind + " " + m.Namespace + "/" + m.Name
}

// SetNamespace moves the object to a namespace. An empty namespace removes the field.
func (m *Manifest) SetNamespace(namespace string) {
	m.Namespace = namespace
	metadata := child(m.Object, "metadata")
	if namespace == "" {
		delete(metadata, "namespace")
		return
	}
	metadata["namespace"] = namespace
}

// Annotation returns the value of an annotation, "" without it.
func (m *Manifest) Annotation(key string) string {
	value, _ := child(child(m.Object, "metadata"), "annotations")[key].(string)
	return value
}

// HealthyWhen returns the object's own health rule and takes it off the object.
func (m *Manifest) HealthyWhen() string {
	rule := m.Annotation(healthyWhenAnnotation)
	annotations := child(child(m.Object, "metadata"), "annotations")
	delete(annotations, healthyWhenAnnotation)
	if len(annotations) == 0 {
		delete(child(m.Object, "metadata"), "annotations")
	}
	return rule
}

// IsKept reports whether the object stays on the cluster when it is no longer delivered. The cause
// is one of Argo CD's sync options, or that the object holds data that cannot be restored.
func (m *Manifest) IsKept() bool {
	options := list(m.Annotation(argocd.SyncOptionsAnnotation))
	return slices.Contains(options, argocd.OptionKeepOnPrune) || slices.Contains(options, argocd.OptionKeepOnDelete) ||
		m.holdsData() && !slices.Contains(options, argocd.OptionPrune)
}

const helmHookAnnotation, helmHookWeightAnnotation = "helm.sh/hook", "helm.sh/hook-weight"

// Wave returns the object's sync wave. As in Argo CD, the weight of a Helm hook counts if the
// object has no wave.
func (m *Manifest) Wave() (int, error) {
	for _, key := range []string{argocd.SyncWaveAnnotation, helmHookWeightAnnotation} {
		text := m.Annotation(key)
		if text == "" {
			continue
		}
		wave, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%s: annotation %s: want a whole number", m, key)
		}
		return int(wave), nil
	}
	return 0, nil
}

// Phase returns the sync phase of a hook, or "" for another object. skip is true if the object must
// not be delivered.
func (m *Manifest) Phase() (phase string, skip bool, err error) {
	key, phases := argocd.HookAnnotation, argoCDPhases
	values := list(m.Annotation(key))
	if len(values) == 0 {
		key, phases = helmHookAnnotation, helmPhases
		values = list(m.Annotation(key))
	}
	if len(values) == 0 {
		return "", false, nil
	}
	skip = true
	for _, value := range values {
		next, known := phases[value]
		switch {
		case !known:
			return "", false, fmt.Errorf("%s: annotation %s: %q is no hook that rendered mode has", m, key, value)
		case next == argocd.HookSkip:
			continue
		case !skip && next != phase:
			return "", false, fmt.Errorf("%s: annotation %s: want one phase; give a second hook another name", m, key)
		}
		phase, skip = next, false
	}
	return phase, skip, nil
}

var argoCDPhases = map[string]string{
	argocd.HookPreSync: argocd.HookPreSync, argocd.HookSync: argocd.HookSync, argocd.HookPostSync: argocd.HookPostSync,
	argocd.HookSyncFail: argocd.HookSyncFail, argocd.HookPostDelete: argocd.HookPostDelete, argocd.HookSkip: argocd.HookSkip,
}

// helmPhases are Argo CD's. A hook that Argo CD does not have is skipped, except for pre-delete.
// Without a pre-delete hook, the resources would be deleted unprepared.
var helmPhases = map[string]string{
	"crd-install": "", "pre-install": argocd.HookPreSync, "pre-upgrade": argocd.HookPreSync,
	"post-install": argocd.HookPostSync, "post-upgrade": argocd.HookPostSync, "post-delete": argocd.HookPostDelete,
	"test": argocd.HookSkip, "test-success": argocd.HookSkip, "test-failure": argocd.HookSkip,
	"pre-rollback": argocd.HookSkip, "post-rollback": argocd.HookSkip,
}

func list(text string) []string {
	var values []string
	for value := range strings.SplitSeq(text, ",") {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	return values
}

func child(object map[string]any, key string) map[string]any {
	value, _ := object[key].(map[string]any)
	return value
}
