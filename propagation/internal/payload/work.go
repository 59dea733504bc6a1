// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// ManifestWork returns the desired work without its name. It sets every field that the API server
// would default, so that the stored spec equals the desired one. It returns an error if the
// Application's spec is not an object, which only its author can correct.
func ManifestWork(p Inputs) (*workv1.ManifestWork, error) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace:   p.Application.Annotations[contract.ClusterAnnotation],
		Labels:      workLabels(p.Application),
		Annotations: workAnnotations(p.Application),
	}}
	if Observes(p.Application) {
		return work, observe(work, p.Application)
	}
	spec, err := Redirect(p.Application.Spec, p.Application.Annotations)
	if err != nil {
		return nil, err
	}
	work.Annotations[contract.ApplicationSpecAnnotation] = applicationSpecHash(spec)
	app, err := applicationManifest(p, spec)
	if err != nil {
		return nil, err
	}
	p.Request.Annotate(work.Annotations)
	// The agent applies manifests in order, and later ones depend on earlier ones.
	if err := addShared(&work.Spec, p); err != nil {
		return nil, err
	}
	add(&work.Spec, app, workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: argocd.Group, Resource: argocd.ApplicationPlural, Namespace: DeliveredNamespace(p.Application), Name: p.Application.Name},
		FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: append(contract.FeedbackPaths(sourcesOf(spec)), p.Request.FeedbackPaths()...)}},
		UpdateStrategy: serverSideApply(takesOver(p.Application), []workv1.IgnoreField{{
			Condition: workv1.IgnoreFieldsConditionOnSpokeChange,
			JSONPaths: []string{".operation", ".metadata.annotations['argocd\\.argoproj\\.io/refresh']"},
		}}),
		FeedbackScrapeType: workv1.FeedbackWatchType,
	})
	OnDelete(work, p.Orphan)
	if p.Orphan && p.BySet {
		work.Annotations[contract.OnWithdrawByAnnotation] = string(BySet)
	}
	return work, nil
}

// addShared adds the manifests that Applications on a managed cluster may share: their namespace
// and their AppProject.
func addShared(spec *workv1.ManifestWorkSpec, p Inputs) error {
	if p.CreateNamespace {
		manifest, err := namespaceManifest(DeliveredNamespace(p.Application))
		if err != nil {
			return err
		}
		id := workv1.ResourceIdentifier{Resource: "namespaces", Name: DeliveredNamespace(p.Application)}
		add(spec, manifest, workv1.ManifestConfigOption{
			ResourceIdentifier: id,
			// an existing namespace, or labels that another client adds later, do not change
			UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
			FeedbackScrapeType: workv1.FeedbackPollType,
		})
	}
	if p.Project != nil {
		manifest, err := projectManifest(p.Project, p.ProjectNamespace, p.Application.Annotations[contract.ClusterAnnotation], p.InstanceLabel)
		if err != nil {
			return err
		}
		id := workv1.ResourceIdentifier{Group: argocd.Group, Resource: argocd.AppProjectPlural, Namespace: p.ProjectNamespace, Name: p.Project.Name}
		add(spec, manifest, workv1.ManifestConfigOption{
			ResourceIdentifier: id,
			UpdateStrategy:     serverSideApply(true, nil),
			FeedbackScrapeType: workv1.FeedbackPollType,
		})
	}
	return nil
}

// OnDelete sets what happens to the delivered objects when a work is deleted. With orphan, all of
// them stay. Otherwise only objects that several Applications may share stay.
func OnDelete(work *workv1.ManifestWork, orphan bool) {
	delete(work.Annotations, contract.OnWithdrawAnnotation)
	if orphan {
		if work.Annotations == nil {
			work.Annotations = map[string]string{}
		}
		work.Annotations[contract.OnWithdrawAnnotation] = DeletionOrphan
	}
	work.Spec.DeleteOption = deleteOption(&work.Spec, orphan)
}

func workLabels(app *argocd.Application) map[string]string {
	labels := map[string]string{contract.PullLabel: "true"}
	if appset := app.OwningApplicationSet(); appset != "" {
		labels[contract.ApplicationSetLabel] = "true"
		labels[contract.ApplicationSetHashLabel] = contract.ApplicationSetHash(app.Namespace, appset)
	}
	return labels
}

func workAnnotations(app *argocd.Application) map[string]string {
	annotations := map[string]string{contract.HubNamespaceAnnotation: app.Namespace, contract.HubNameAnnotation: app.Name}
	if appset := app.OwningApplicationSet(); appset != "" {
		annotations[contract.HostingAnnotation] = app.Namespace + "/" + appset
	}
	return annotations
}

// Size returns the number of bytes that count for the hub's limit of a ManifestWork. OCM's webhook
// counts the same.
func Size(spec *workv1.ManifestWorkSpec) int {
	size := 0
	for i := range spec.Workload.Manifests {
		size += spec.Workload.Manifests[i].Size()
	}
	return size
}
