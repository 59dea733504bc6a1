// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"fmt"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// pauseMark is the value of [contract.PausedAnnotation] on a work with an Application that must not
// sync by itself. The removed spec.syncPolicy.automated follows after a space.
const pauseMark = "sync"

// WithoutAutomation removes spec.syncPolicy.automated from the Application that a work delivers.
// Everything else stays. It returns the mark of the work.
func WithoutAutomation(spec *workv1.ManifestWorkSpec) (mark string, err error) {
	mark = pauseMark
	err = changeApplication(spec, func(raw json.RawMessage) (json.RawMessage, error) {
		var app struct {
			Spec struct {
				SyncPolicy struct {
					Automated json.RawMessage `json:"automated"`
				} `json:"syncPolicy"`
			} `json:"spec"`
		}
		if json.Unmarshal(raw, &app) == nil && len(app.Spec.SyncPolicy.Automated) > 0 {
			mark = pauseMark + " " + string(app.Spec.SyncPolicy.Automated)
		}
		return edit(raw, remove, "spec", "syncPolicy", "automated")
	})
	return mark, err
}

// WithAutomation restores the automation that [WithoutAutomation] removed from the Application that
// a work delivers. mark is the mark of the work.
func WithAutomation(spec *workv1.ManifestWorkSpec, mark string) error {
	return changeApplication(spec, func(raw json.RawMessage) (json.RawMessage, error) {
		return edit(raw, func(spec json.RawMessage) (json.RawMessage, error) { return automatedAgain(spec, mark) }, "spec")
	})
}

func changeApplication(spec *workv1.ManifestWorkSpec, change func(json.RawMessage) (json.RawMessage, error)) error {
	for i := range spec.Workload.Manifests {
		m := &spec.Workload.Manifests[i]
		id, err := idOf(m.Raw)
		if err != nil {
			return err
		}
		if id.Kind != argocd.ApplicationKind {
			continue
		}
		if m.Raw, err = change(m.Raw); err != nil {
			return fmt.Errorf("delivered Application %s/%s: %w", id.Namespace, id.Name, err)
		}
	}
	return nil
}

// automatedAgain returns the spec of a delivered Application with the automation from the mark of
// its work. Without one, the spec stays unchanged.
func automatedAgain(spec json.RawMessage, mark string) (json.RawMessage, error) {
	taken, noted := strings.CutPrefix(mark, pauseMark+" ")
	if !noted || !json.Valid([]byte(taken)) {
		return spec, nil // an agent can write annotations
	}
	if fields, err := members(spec); err != nil || fields == nil {
		return spec, err
	}
	return edit(spec, func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(taken), nil }, "syncPolicy", "automated")
}

// PausePatch returns the JSON patch that sets the spec and the pause mark of a work. An empty mark
// removes it.
func PausePatch(current *manifestcache.Work, spec *workv1.ManifestWorkSpec, mark string) (json.RawMessage, error) {
	want := map[string]string{contract.PausedAnnotation: mark}
	if mark == "" {
		want = nil
	}
	patch := changes("/metadata/annotations", current.Stored.Annotated, current.Annotations, want, []string{contract.PausedAnnotation})
	return patchOf(current.ResourceVersion, append(patch, patchOperation{"replace", "/spec", spec})...)
}
