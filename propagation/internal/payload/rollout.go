// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// maxSnapshot is the most bytes of an Application that are kept to go back to: annotations
// of an object have 256 KiB together.
const maxSnapshot = 128 << 10

// rolledOut pins the sources of the spec to what a rollout lets the work carry, and notes on the
// work what it carries.
func rolledOut(work *workv1.ManifestWork, p Inputs, spec json.RawMessage) (json.RawMessage, error) {
	work.Annotations[contract.RolloutAnnotation] = p.Rollout.String()
	if p.Snapshot != "" {
		work.Annotations[contract.RolloutPromotedAnnotation] = p.Snapshot
	}
	if _, _, err := rollout.Sources(spec); err != nil || len(p.Rollout.Revisions) == 0 {
		return spec, err
	}
	return Pin(spec, p.Rollout.Revisions)
}

// Pin returns spec with its sources at the given revisions, of which there is one for each;
// nothing else in it is decoded.
func Pin(spec json.RawMessage, revisions []string) (json.RawMessage, error) {
	fields, err := members(spec)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	var sources []json.RawMessage
	if raw, several := fields["sources"]; several {
		if err := json.Unmarshal(raw, &sources); err != nil {
			return nil, fmt.Errorf("spec.sources: %w", err)
		}
	}
	several := len(sources) > 0
	if !several {
		sources = []json.RawMessage{fields["source"]}
	}
	if len(sources) != len(revisions) {
		return nil, fmt.Errorf("spec has %d sources, and %d revisions are promoted", len(sources), len(revisions))
	}
	for i, revision := range revisions {
		source, err := members(sources[i])
		if err != nil || source == nil {
			return nil, fmt.Errorf("source %d: want an object", i)
		}
		if source["targetRevision"], err = encode("targetRevision", revision); err != nil {
			return nil, err
		}
		if sources[i], err = encode("source", source); err != nil {
			return nil, err
		}
	}
	if several {
		fields["sources"], err = encode("sources", sources)
	} else {
		fields["source"] = sources[0]
	}
	if err != nil {
		return nil, err
	}
	return encode("spec", fields)
}

// snapshot is an Application as a work carried it while it was promoted.
type snapshot struct {
	// Version is the promoted one, of which rollout.
	Version     string            `json:"version"`
	Content     string            `json:"content"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Spec        json.RawMessage   `json:"spec"`
}

// Snapshot returns what is to be noted on a stored work before it is given a candidate:
// empty when what is promoted as that version, "" for none, is noted already.
func Snapshot(stored *workv1.ManifestWork, version string) (string, error) {
	var noted snapshot
	if json.Unmarshal([]byte(stored.Annotations[contract.RolloutPromotedAnnotation]), &noted) == nil && noted.Version == version && version != "" {
		return "", nil
	}
	now, err := noteOf(stored, version)
	if err != nil || len(now.Spec) == 0 {
		return "", err // another writer has emptied it: there is nothing to go back to
	}
	raw, err := encode("snapshot", now)
	if err == nil && len(raw) > maxSnapshot {
		return "", fmt.Errorf("the Application has %d bytes, and at most %d can be kept to go back to: make it smaller (move inline values into git)", len(raw), maxSnapshot)
	}
	return string(raw), err
}

// noteOf returns the Application in a stored work.
func noteOf(stored *workv1.ManifestWork, version string) (snapshot, error) {
	manifests := stored.Spec.Workload.Manifests
	if len(manifests) == 0 {
		return snapshot{}, nil
	}
	var app deliveredApplication
	err := json.Unmarshal(manifests[len(manifests)-1].Raw, &app)
	if err != nil {
		return snapshot{}, fmt.Errorf("decode delivered Application: %w", err)
	}
	if app.Spec, err = automatedAgain(app.Spec, stored.Annotations[contract.PausedAnnotation]); err != nil {
		return snapshot{}, err
	}
	return snapshot{
		Version: version, Content: rollout.ParseCarried(stored.Annotations[contract.RolloutAnnotation]).Content,
		Labels: app.Metadata.Labels, Annotations: app.Metadata.Annotations, Spec: app.Spec,
	}, nil
}

// Promoted returns app as its stored work carried it while it was promoted as that
// version, with the hash of its content; nil when that is not noted. With is, the work carries
// the promoted content now.
func Promoted(app *argocd.Application, stored *workv1.ManifestWork, version string, is bool) (*argocd.Application, string) {
	noted, err := noteOf(stored, version)
	if !is {
		noted = snapshot{}
		err = json.Unmarshal([]byte(stored.Annotations[contract.RolloutPromotedAnnotation]), &noted)
	}
	if err != nil || noted.Version != version || len(noted.Spec) == 0 {
		return nil, ""
	}
	was := *app
	was.Spec, was.Labels, was.Annotations = noted.Spec, restored(app.Labels, noted.Labels), restored(app.Annotations, noted.Annotations)
	return &was, noted.Content
}

// restored returns the labels or annotations of an Application with those that are rolled out
// as they were.
func restored(is, was map[string]string) map[string]string {
	all := map[string]string{}
	for key, value := range is {
		if !rollout.IsContent(key) || hubOnlyKeys[key] {
			all[key] = value
		}
	}
	for key, value := range was {
		if rollout.IsContent(key) {
			all[key] = value
		}
	}
	return all
}

// Carries returns what a work is known to carry. One that was not written under a rollout
// carries the hub's content when it delivers the hub's spec.
func Carries(app *argocd.Application, work *manifestcache.Work, content string) rollout.Carried {
	if value := work.Annotations[contract.RolloutAnnotation]; value != "" {
		return rollout.ParseCarried(value)
	}
	if Undelivered(app, work) {
		return rollout.Carried{}
	}
	return rollout.Carried{Content: content}
}

// KeepRollout has want say of a rollout what current says, whose Application it keeps.
func KeepRollout(current *manifestcache.Work, want *workv1.ManifestWork) {
	delete(want.Annotations, contract.RolloutAnnotation)
	if value, there := current.Annotations[contract.RolloutAnnotation]; there {
		want.Annotations[contract.RolloutAnnotation] = value
	}
}
