// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"cmp"
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// IsManagementPolicy reports whether the management-policy annotation has a valid value.
func IsManagementPolicy(app *argocd.Application) bool {
	switch app.Annotations[contract.ManagementPolicyAnnotation] {
	case "", ManagementNoTakeover, ManagementObserve:
		return true
	}
	return false
}

// observe changes a work so that it reads the Application on the managed cluster and never changes
// it. The agent does not own an object that it only reads. So deleting the work does not change the
// Application either. The spec of the Application is not in the work, so that a change of it needs
// no write.
func observe(work *workv1.ManifestWork, app *argocd.Application) error {
	existing := DeliveredName(app)
	manifest, err := encode("Application", deliveredObject{
		APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationKind,
		Metadata: deliveredMetadata{Name: existing.Name, Namespace: existing.Namespace},
	})
	if err != nil {
		return err
	}
	add(&work.Spec, manifest, workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: argocd.Group, Resource: argocd.ApplicationPlural, Namespace: existing.Namespace, Name: existing.Name},
		FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: append(contract.FeedbackPaths(sourcesOf(app.Spec)), contract.ObservedPaths()...)}},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly},
		FeedbackScrapeType: workv1.FeedbackWatchType,
	})
	work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	work.Annotations[contract.ObservedAnnotation] = "true"
	return nil
}

// Differences lists the changes that a delivery would make to the observed Application, as far as
// the agent has reported: "path \"a\" → \"b\"". Several sources are not compared.
func Differences(app *argocd.Application, work *manifestcache.Work) []string {
	var spec struct {
		Source *struct {
			RepoURL        string `json:"repoURL"`
			Path           string `json:"path"`
			Chart          string `json:"chart"`
			TargetRevision string `json:"targetRevision"`
		} `json:"source"`
		Destination struct {
			Namespace string `json:"namespace"`
		} `json:"destination"`
	}
	if json.Unmarshal(app.Spec, &spec) != nil {
		return nil // another message reports it
	}
	var found []string
	compare := func(field, name, want, missing string) {
		if is := cmp.Or(work.Feedback(name), missing); is != cmp.Or(want, missing) {
			found = append(found, fmt.Sprintf("%s %q → %q", field, is, cmp.Or(want, missing)))
		}
	}
	if s := spec.Source; s != nil {
		compare("repoURL", contract.FeedbackRepoURL, s.RepoURL, "")
		compare("path", contract.FeedbackPath, s.Path, "")
		compare("chart", contract.FeedbackChart, s.Chart, "")
		compare("targetRevision", contract.FeedbackTargetRevision, s.TargetRevision, "HEAD")
	}
	compare("project", contract.FeedbackProject, ProjectName(app), argocd.DefaultProject)
	compare("destination namespace", contract.FeedbackDestinationNamespace, spec.Destination.Namespace, "")
	return found
}
