// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Ending describes the last version of a ManifestWork. The work agent ignores a work that is being
// deleted. So the ending has to be written into the work and applied before the work is deleted.
type Ending struct {
	// Orphan keeps everything that was delivered on the cluster.
	Orphan bool
	// BySet is true if the ApplicationSet asks for Orphan.
	BySet bool
	// Finalizers of the delivered Application decide whether Argo CD prunes the workload. An ending
	// with Orphan does not change them.
	Finalizers []string
	// WithoutAutomation stops automated syncs of an orphan, because its tenant has lost a
	// permission.
	WithoutAutomation bool
	// Resume restores the automation that a pause of syncs has removed.
	Resume bool
	// Reduced removes everything from the delivered Application that its tenant has written, except
	// the project: the other fields of its spec, its labels and its annotations.
	Reduced bool
}

// These requests mark two kinds of ending. The first keeps the Application's workload. The second
// keeps the Application without automated syncs.
const (
	endRequest  = "end-without-cascade"
	stayRequest = "stay-without-automation"
)

// keepsDeployed reports whether the Application is removed and its workload stays. A finalizer that
// only runs hooks does not prune.
func (e Ending) keepsDeployed() bool {
	return !e.Orphan && !slices.ContainsFunc(e.Finalizers, contract.IsCascading)
}

// request returns the mark of the Application by which its report proves the ending, or "" if the
// ending needs no proof.
func (e Ending) request() string {
	switch {
	case e.keepsDeployed():
		return endRequest
	case e.WithoutAutomation:
		return stayRequest
	}
	return ""
}

// Proof is the agent's report about an Application with the ending. The agent's server-side apply
// does not remove a field that another field manager has set as well.
type Proof struct {
	// Known is true if the agent has reported on the Application with that request.
	Known bool
	// Finalizer is a finalizer that makes Argo CD prune resources that have to stay. Manager is a
	// field manager that has set the automation. Both are empty if none exists.
	Finalizer, Manager string
}

// Done reports whether the ending is applied completely.
func (p Proof) Done() bool { return p.Known && p.Finalizer == "" && p.Manager == "" }

// ProofOf returns the proof of an ending. The proof is always known if none is needed.
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

// askForProof adds the feedback rules that [ProofOf] needs to the manifest.
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

// EndingOf returns a stored ManifestWork's spec with its ending, and whether the work has it
// already. If the spec changes, the request in the work is removed, because the agent would apply
// it again. The error names a manifest that cannot be decoded.
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

// endingManifest returns a delivered Application with its ending, or nil if nothing differs. mark
// is the mark of a pause.
func endingManifest(raw json.RawMessage, e Ending, mark string) (json.RawMessage, error) {
	var app deliveredApplication
	if err := json.Unmarshal(raw, &app); err != nil {
		return nil, err
	}
	changed := false
	if e.Reduced {
		var err error
		if changed, err = reduce(&app); err != nil {
			return nil, err
		}
	}
	if !e.Orphan && !slices.Equal(app.Metadata.Finalizers, e.Finalizers) && len(app.Metadata.Finalizers)+len(e.Finalizers) > 0 {
		app.Metadata.Finalizers, changed = e.Finalizers, true
	}
	if request := e.request(); request != "" && app.Metadata.Annotations[contract.RequestAnnotation] != request {
		if app.Metadata.Annotations == nil {
			app.Metadata.Annotations = map[string]string{}
		}
		app.Metadata.Annotations[contract.RequestAnnotation], changed = request, true
	}
	spec, err := endingAutomation(app.Spec, e, mark)
	if err != nil {
		return nil, err
	}
	if !changed && bytes.Equal(spec, app.Spec) {
		return nil, nil
	}
	app.Spec = spec
	return encode("Application", app)
}

// endingAutomation returns the spec of a delivered Application with the automation of its ending.
func endingAutomation(spec json.RawMessage, e Ending, mark string) (_ json.RawMessage, err error) {
	if e.Orphan && e.Resume {
		if spec, err = automatedAgain(spec, mark); err != nil {
			return nil, err
		}
	}
	if e.WithoutAutomation {
		return edit(spec, remove, "syncPolicy", "automated")
	}
	return spec, nil
}

// reduce removes everything from a delivered Application that its tenant has written, except the
// project. The Application then has no source, so that Argo CD neither syncs nor prunes. The label
// stays by which argocd-agent ignores the Application. It reports whether anything was removed.
func reduce(app *deliveredApplication) (changed bool, err error) {
	fields, err := members(app.Spec)
	if err != nil {
		return false, fmt.Errorf("spec: %w", err)
	}
	spec, err := encode("spec", struct {
		Destination map[string]string `json:"destination"`
		Project     json.RawMessage   `json:"project,omitempty"`
	}{map[string]string{"server": argocd.InClusterServer}, fields["project"]})
	if err != nil {
		return false, err
	}
	annotations := maps.Clone(app.Metadata.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return key != contract.RequestAnnotation })
	labels := maps.Clone(app.Metadata.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return key != argocd.IgnoreSyncLabel })
	changed = !bytes.Equal(spec, app.Spec) || len(labels) < len(app.Metadata.Labels) || len(annotations) < len(app.Metadata.Annotations)
	app.Spec, app.Metadata.Labels, app.Metadata.Annotations = spec, labels, annotations
	return changed, nil
}

// Reducible reports whether an ending may reduce the Application of a spec. Without force, the
// reduced Application could take over an Application of another owner, because it has fewer fields
// that conflict.
func Reducible(spec *workv1.ManifestWorkSpec) bool {
	return slices.ContainsFunc(spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool {
		apply := c.UpdateStrategy
		return c.ResourceIdentifier.Resource == argocd.ApplicationPlural && apply != nil && apply.ServerSideApply != nil && apply.ServerSideApply.Force
	})
}

// WithoutRequest removes a finished one-time request from the Application that a spec delivers, so
// that the agent does not apply it again.
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

// EndPatch returns the JSON patch that writes the spec of [EndingOf] into a stored work. It adds
// the mark of an orphan, and notes removed automation as a pause of syncs does.
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
		if mark != pauseMark { // a note about the automation is needed
			want[contract.PausedAnnotation] = mark
		}
	}
	patch := changes("/metadata/annotations", len(stored.Annotations) > 0, stored.Annotations, want,
		[]string{contract.OnWithdrawAnnotation, contract.OnWithdrawByAnnotation, contract.PausedAnnotation})
	return patchOf(stored.ResourceVersion, append(patch, patchOperation{"replace", "/spec", spec})...)
}
