// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Ending is what the last version of a ManifestWork says about its end. The work agent
// ignores a work that is being deleted: how it ends must be in the work, and applied,
// before.
type Ending struct {
	// Orphan: everything that is delivered stays.
	Orphan bool
	// BySet: it is the ApplicationSet that said so.
	BySet bool
	// Finalizers of the delivered Application, which decide whether Argo CD prunes what it
	// deployed. An end that orphans leaves them as they are.
	Finalizers []string
	// WithoutAutomation: an orphan that its tenant may not have synced any more.
	WithoutAutomation bool
	// Resume: a pause of syncs is over, and the automation that it took out comes back.
	Resume bool
}

// endRequest is the request of an Application that is to go without what it deployed.
const endRequest = "end-without-cascade"

// keepsDeployed reports whether the Application goes and what it deployed stays.
func (e Ending) keepsDeployed() bool {
	return !e.Orphan && len(e.Finalizers) == 0
}

// Cascades returns the finalizer with which Argo CD would prune what has to stay, once the
// agent has reported on the Application as [EndingOf] has it; known is false until then.
// An end that keeps nothing is always known.
func Cascades(work *workv1.ManifestWork, e Ending) (finalizer string, known bool) {
	if !e.keepsDeployed() {
		return "", true
	}
	for i := range work.Status.ResourceStatus.Manifests {
		if m := &work.Status.ResourceStatus.Manifests[i]; m.ResourceMeta.Group == argocd.Group && m.ResourceMeta.Resource == argocd.ApplicationPlural {
			return contract.Cascades(m.StatusFeedbacks.Values, endRequest)
		}
	}
	return "", false
}

// askForFinalizers adds the feedback that [Cascades] reads to that of the manifest.
func askForFinalizers(spec *workv1.ManifestWorkSpec, manifest json.RawMessage) {
	var app deliveredApplication
	_ = json.Unmarshal(manifest, &app) // it was encoded just now
	for i := range spec.ManifestConfigs {
		c := &spec.ManifestConfigs[i]
		if c.ResourceIdentifier.Group != argocd.Group || c.ResourceIdentifier.Resource != argocd.ApplicationPlural {
			continue
		}
		rules := slices.DeleteFunc(c.FeedbackRules, func(r workv1.FeedbackRule) bool { return r.Type == workv1.JSONPathsType })
		c.FeedbackRules = append(rules, workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: append(contract.FeedbackPaths(sourcesOf(app.Spec)), contract.EndingPaths()...)})
	}
}

// EndingOf returns a stored ManifestWork's spec as it has to be before the work is deleted,
// and whether it is so already. A request that is still in the work is taken out of a spec
// that changes: the agent would apply it again. The error names a manifest that cannot be
// decoded.
func EndingOf(stored *workv1.ManifestWork, e Ending) (spec *workv1.ManifestWorkSpec, same bool, err error) {
	spec = stored.Spec.DeepCopy()
	marked := stored.Annotations[contract.OnWithdrawAnnotation] != ""
	orphans := spec.DeleteOption != nil && spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan
	if same = marked == e.Orphan && orphans == e.Orphan; !same {
		spec.DeleteOption = deleteOption(spec, e.Orphan)
	}
	for i := range spec.Workload.Manifests {
		m := &spec.Workload.Manifests[i]
		id, err := idOf(m.Raw)
		if err != nil {
			return nil, false, err
		}
		if id.Kind != argocd.ApplicationKind {
			continue
		}
		raw, err := endingManifest(m.Raw, e, stored.Annotations[contract.PausedAnnotation])
		if err != nil {
			return nil, false, fmt.Errorf("delivered Application %s/%s: %w", id.Namespace, id.Name, err)
		}
		if same = same && raw == nil; raw == nil {
			continue
		}
		if m.Raw, err = withoutRequestIn(raw); err != nil {
			return nil, false, fmt.Errorf("delivered Application %s/%s: %w", id.Namespace, id.Name, err)
		}
		if e.keepsDeployed() {
			askForFinalizers(spec, m.Raw)
		}
	}
	return spec, same, nil
}

// endingManifest returns a delivered Application as it has to be at its end, nil when it is. mark
// is that of a pause.
func endingManifest(raw json.RawMessage, e Ending, mark string) (json.RawMessage, error) {
	var app deliveredApplication
	if err := json.Unmarshal(raw, &app); err != nil {
		return nil, err
	}
	changed := false
	if !e.Orphan && !slices.Equal(app.Metadata.Finalizers, e.Finalizers) && len(app.Metadata.Finalizers)+len(e.Finalizers) > 0 {
		app.Metadata.Finalizers, changed = e.Finalizers, true
	}
	if e.keepsDeployed() && app.Metadata.Annotations[contract.RequestAnnotation] != endRequest {
		if app.Metadata.Annotations == nil {
			app.Metadata.Annotations = map[string]string{}
		}
		app.Metadata.Annotations[contract.RequestAnnotation], changed = endRequest, true
	}
	if e.Orphan && e.Resume {
		spec, err := automatedAgain(app.Spec, mark)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(spec, app.Spec) {
			app.Spec, changed = spec, true
		}
	}
	if e.WithoutAutomation {
		spec, err := withoutMember(app.Spec, "automated", "syncPolicy")
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(spec, app.Spec) {
			app.Spec, changed = spec, true
		}
	}
	if !changed {
		return nil, nil
	}
	return encode("Application", app)
}

// WithoutRequest takes a one-time request that has been out of the Application that a spec
// delivers, so that the agent does not apply it again.
func WithoutRequest(spec *workv1.ManifestWorkSpec) (err error) {
	last := len(spec.Workload.Manifests) - 1
	if last < 0 {
		return nil
	}
	m := &spec.Workload.Manifests[last]
	if m.Raw, err = withoutRequestIn(m.Raw); err != nil {
		return fmt.Errorf("decode the delivered Application: %w", err)
	}
	return nil
}

// withoutRequestIn returns a delivered Application without a one-time request.
func withoutRequestIn(raw json.RawMessage) (json.RawMessage, error) {
	var app deliveredApplication
	if err := json.Unmarshal(raw, &app); err != nil {
		return nil, err
	}
	if len(app.Operation) == 0 && len(app.Status) == 0 && app.Metadata.Annotations[argocd.RefreshAnnotation] == "" {
		return raw, nil
	}
	app.Operation, app.Status = nil, nil
	delete(app.Metadata.Annotations, argocd.RefreshAnnotation)
	delete(app.Metadata.Annotations, argocd.HydrateAnnotation)
	return encode("Application", app)
}

// EndPatch returns the JSON patch that gives a stored work the spec of [EndingOf] and marks one
// that orphans. Of a work that does already the mark stays as it is.
func EndPatch(stored *workv1.ManifestWork, spec *workv1.ManifestWorkSpec, e Ending) (json.RawMessage, error) {
	patch := []patchOperation{{"replace", "/metadata/resourceVersion", stored.ResourceVersion}}
	want := map[string]string{}
	if e.Orphan {
		want[contract.OnWithdrawAnnotation] = DeletionOrphan
		if e.BySet {
			want[contract.OnWithdrawByAnnotation] = string(BySet)
		}
	}
	patch = append(patch, changes("/metadata/annotations", len(stored.Annotations) > 0, stored.Annotations, want, []string{contract.OnWithdrawAnnotation, contract.OnWithdrawByAnnotation})...)
	return encode("ManifestWork patch", append(patch, patchOperation{"replace", "/spec", spec}))
}
