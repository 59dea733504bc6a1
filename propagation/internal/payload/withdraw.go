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

// Requests of an Application that is to go without what it deployed, and of one that is to stay
// and not to sync by itself.
const (
	endRequest  = "end-without-cascade"
	stayRequest = "stay-without-automation"
)

// keepsDeployed reports whether the Application goes and what it deployed stays.
func (e Ending) keepsDeployed() bool {
	return !e.Orphan && len(e.Finalizers) == 0
}

// request returns what marks the Application whose state proves that the end is applied, "" for
// an end that needs no proof.
func (e Ending) request() string {
	switch {
	case e.keepsDeployed():
		return endRequest
	case e.WithoutAutomation:
		return stayRequest
	}
	return ""
}

// Proof is what the agent has reported of an Application as [EndingOf] has it. A field that
// another field manager has set, too, is not removed by the agent's server-side apply.
type Proof struct {
	// Known: it has reported on the Application with that request.
	Known bool
	// Finalizer is one with which Argo CD would prune what has to stay, Manager a field manager
	// with whose automation it would go on syncing; empty for none.
	Finalizer, Manager string
}

// Done reports whether the end is as it has to be.
func (p Proof) Done() bool { return p.Known && p.Finalizer == "" && p.Manager == "" }

// ProofOf returns what proves an end. One that needs no proof is always known.
func ProofOf(work *workv1.ManifestWork, e Ending) (p Proof) {
	request := e.request()
	if request == "" {
		return Proof{Known: true}
	}
	for i := range work.Status.ResourceStatus.Manifests {
		m := &work.Status.ResourceStatus.Manifests[i]
		if m.ResourceMeta.Group != argocd.Group || m.ResourceMeta.Resource != argocd.ApplicationPlural {
			continue
		}
		p.Finalizer, p.Known = contract.Cascades(m.StatusFeedbacks.Values, request)
		if e.keepsDeployed() {
			return p
		}
		p.Finalizer = ""
		p.Manager = contract.AutomationOwner(m.StatusFeedbacks.Values)
		return p
	}
	return p
}

// askForProof adds the feedback that [ProofOf] reads to that of the manifest.
func askForProof(spec *workv1.ManifestWorkSpec, manifest json.RawMessage) {
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
		if e.request() != "" {
			askForProof(spec, m.Raw)
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
	if request := e.request(); request != "" && app.Metadata.Annotations[contract.RequestAnnotation] != request {
		if app.Metadata.Annotations == nil {
			app.Metadata.Annotations = map[string]string{}
		}
		app.Metadata.Annotations[contract.RequestAnnotation], changed = request, true
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
		spec, err := edit(app.Spec, remove, "syncPolicy", "automated")
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

// EndPatch returns the JSON patch that gives a stored work the spec of [EndingOf], marks one that
// orphans, and notes the automation that is taken out as a pause of syncs does.
func EndPatch(stored *workv1.ManifestWork, spec *workv1.ManifestWorkSpec, e Ending) (json.RawMessage, error) {
	want := map[string]string{}
	if e.Orphan {
		want[contract.OnWithdrawAnnotation] = DeletionOrphan
		if e.BySet {
			want[contract.OnWithdrawByAnnotation] = string(BySet)
		}
	}
	if paused := stored.Annotations[contract.PausedAnnotation]; paused != "" && !e.Resume {
		want[contract.PausedAnnotation] = paused
	} else if e.WithoutAutomation {
		mark, err := WithoutAutomation(stored.Spec.DeepCopy())
		if err != nil {
			return nil, err
		}
		if mark != pauseMark { // there is one to note
			want[contract.PausedAnnotation] = mark
		}
	}
	patch := changes("/metadata/annotations", len(stored.Annotations) > 0, stored.Annotations, want,
		[]string{contract.OnWithdrawAnnotation, contract.OnWithdrawByAnnotation, contract.PausedAnnotation})
	return patchOf(stored.ResourceVersion, append(patch, patchOperation{"replace", "/spec", spec})...)
}
