// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Content returns the hash of what of a hub Application is rolled out: its spec, and the
// labels and annotations that are delivered or say where to. Requests, pauses and what
// only the hub reads are no content.
func Content(app *argocd.Application) string {
	var spec any
	if json.Unmarshal(app.Spec, &spec) != nil {
		spec = string(app.Spec) // which is not delivered
	}
	raw, err := json.Marshal(struct {
		Spec                any
		Labels, Annotations map[string]string
	}{spec, rolled(app.Labels), rolled(app.Annotations)})
	if err != nil {
		raw = app.Spec
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

func rolled(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if IsContent(key) {
			kept[key] = value
		}
	}
	return kept
}

// IsContent reports whether a label or annotation of that key is rolled out.
func IsContent(key string) bool {
	switch key {
	case contract.AppNamespaceAnnotation, contract.DestinationNameAnnotation, contract.DestinationServerAnnotation:
		return true
	case argocd.SkipReconcileAnnotation, argocd.RefreshAnnotation, argocd.HydrateAnnotation, argocd.InstanceLabel,
		argocd.TrackingIDAnnotation, argocd.InstallationIDAnnotation, corev1.LastAppliedConfigAnnotation:
		return false
	}
	return !strings.HasPrefix(key, contract.KeyPrefix) && !strings.HasPrefix(key, argocd.NotifiedAnnotationPrefix)
}

// Carried is what a ManifestWork carries: a content, and the revisions to which its
// sources are pinned, none for those of the hub's spec.
type Carried struct {
	Content   string
	Revisions []string
}

// String returns the value of annotation [contract.RolloutAnnotation].
func (c Carried) String() string {
	if len(c.Revisions) == 0 {
		return c.Content
	}
	return c.Content + "@" + strings.Join(c.Revisions, ",")
}

// ParseCarried is the opposite of [Carried.String].
func ParseCarried(value string) Carried {
	content, revisions, pinned := strings.Cut(value, "@")
	if !pinned {
		return Carried{Content: content}
	}
	return Carried{Content: content, Revisions: strings.Split(revisions, ",")}
}

// MaxSources is how many sources of an Application are followed.
const MaxSources = contract.MaxSources

// Source is where a source of an Application comes from, without its path.
type Source struct {
	RepoURL        string `json:"repoURL"`
	Chart          string `json:"chart"`
	TargetRevision string `json:"targetRevision"`
}

// Sources returns the sources of an Application's spec, and whether it has a list of them.
// The error says what cannot be rolled out.
func Sources(spec json.RawMessage) (sources []Source, several bool, err error) {
	var s struct {
		Source   *Source         `json:"source"`
		Sources  []Source        `json:"sources"`
		Hydrator json.RawMessage `json:"sourceHydrator"`
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		return nil, false, fmt.Errorf("spec: %w", err)
	}
	switch {
	case len(s.Hydrator) > 0 && !bytes.Equal(s.Hydrator, []byte("null")):
		return nil, false, fmt.Errorf("spec.sourceHydrator: a hydrated source cannot be rolled out")
	case len(s.Sources) > MaxSources:
		return nil, false, fmt.Errorf("spec.sources: %d sources, and at most %d can be rolled out", len(s.Sources), MaxSources)
	case len(s.Sources) > 0:
		sources, several = s.Sources, true
	case s.Source != nil:
		sources = []Source{*s.Source}
	default:
		return nil, false, fmt.Errorf("spec.source: there is none")
	}
	for i := range sources {
		sources[i].TargetRevision = cmp.Or(sources[i].TargetRevision, "HEAD")
	}
	return sources, several, nil
}
