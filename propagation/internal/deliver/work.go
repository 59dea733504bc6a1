// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// parcel is everything that goes into one ManifestWork.
type parcel struct {
	app *argocd.Application
	// project travels with the Application unless nil.
	project *argocd.AppProject
	// projectNamespace is where the project goes on the managed cluster.
	projectNamespace string
	// namespace tells whether the Application's namespace travels too.
	namespace bool
	request   request
}

// manifestWork returns the wanted work, without its name. Every field that the
// API server would default is set, so that the stored spec is the wanted one.
func manifestWork(p parcel) (*workv1.ManifestWork, error) {
	app, err := applicationManifest(p.app, p.request)
	if err != nil {
		return nil, err
	}
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace:   p.app.Annotations[wire.ClusterAnnotation],
		Labels:      workLabels(p.app),
		Annotations: workAnnotations(p.app),
	}}
	p.request.annotate(work.Annotations)
	var orphans []workv1.OrphaningRule
	// A later manifest needs the earlier ones: the agent applies them in order.
	if p.namespace {
		manifest, err := namespaceManifest(deliveredNamespace(p.app))
		if err != nil {
			return nil, err
		}
		id := workv1.ResourceIdentifier{Resource: "namespaces", Name: deliveredNamespace(p.app)}
		add(&work.Spec, manifest, workv1.ManifestConfigOption{
			ResourceIdentifier: id,
			// whoever made the namespace before us, or labels it later, is not disturbed
			UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
			FeedbackScrapeType: workv1.FeedbackPollType,
		})
		orphans = append(orphans, workv1.OrphaningRule(id))
	}
	if p.project != nil {
		manifest, err := projectManifest(p.project, p.projectNamespace)
		if err != nil {
			return nil, err
		}
		id := workv1.ResourceIdentifier{Group: argocd.Group, Resource: argocd.AppProjectPlural, Namespace: p.projectNamespace, Name: p.project.Name}
		add(&work.Spec, manifest, workv1.ManifestConfigOption{
			ResourceIdentifier: id,
			UpdateStrategy:     serverSideApply(nil),
			FeedbackScrapeType: workv1.FeedbackPollType,
		})
		orphans = append(orphans, workv1.OrphaningRule(id))
	}
	add(&work.Spec, app, workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: argocd.Group, Resource: argocd.ApplicationPlural, Namespace: deliveredNamespace(p.app), Name: p.app.Name},
		FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: append(wire.FeedbackPaths(), p.request.feedback()...)}},
		UpdateStrategy: serverSideApply([]workv1.IgnoreField{{
			Condition: workv1.IgnoreFieldsConditionOnSpokeChange,
			JSONPaths: []string{".operation", ".metadata.annotations['argocd\\.argoproj\\.io/refresh']"},
		}}),
		FeedbackScrapeType: workv1.FeedbackWatchType,
	})
	work.Spec.DeleteOption = deleteOption(orphans)
	return work, nil
}

func deleteOption(orphans []workv1.OrphaningRule) *workv1.DeleteOption {
	if len(orphans) == 0 {
		return &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	}
	return &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: orphans},
	}
}

func serverSideApply(ignore []workv1.IgnoreField) *workv1.UpdateStrategy {
	return &workv1.UpdateStrategy{
		Type:            workv1.UpdateStrategyTypeServerSideApply,
		ServerSideApply: &workv1.ServerSideApplyConfig{Force: true, FieldManager: workv1.DefaultFieldManager, IgnoreFields: ignore},
	}
}

func add(spec *workv1.ManifestWorkSpec, manifest json.RawMessage, config workv1.ManifestConfigOption) {
	spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: manifest}})
	spec.ManifestConfigs = append(spec.ManifestConfigs, config)
}

func workLabels(app *argocd.Application) map[string]string {
	labels := map[string]string{wire.PullLabel: "true"}
	if appset := app.OwningApplicationSet(); appset != "" {
		labels[wire.ApplicationSetLabel] = "true"
		labels[wire.ApplicationSetHashLabel] = wire.ApplicationSetHash(app.Namespace, appset)
	}
	return labels
}

func workAnnotations(app *argocd.Application) map[string]string {
	annotations := map[string]string{wire.HubNamespaceAnnotation: app.Namespace, wire.HubNameAnnotation: app.Name}
	if appset := app.OwningApplicationSet(); appset != "" {
		annotations[wire.HostingAnnotation] = app.Namespace + "/" + appset
	}
	return annotations
}

// payloadSize returns the bytes that the hub's ManifestWork limit counts.
func payloadSize(work *workv1.ManifestWork) int {
	size := 0
	for i := range work.Spec.Workload.Manifests {
		size += len(work.Spec.Workload.Manifests[i].Raw)
	}
	return size
}

// change is what an update has to know about a wanted spec.
type change struct {
	// hash identifies the spec, base the spec without its request.
	hash, base string
}

func changeOf(spec *workv1.ManifestWorkSpec, r request) (change, error) {
	hash, err := specHash(spec)
	if err != nil || r.ID == "" {
		return change{hash, hash}, err
	}
	base, err := baseHash(spec)
	return change{hash, base}, err
}

// baseHash is the [specHash] of a spec without its request.
func baseHash(spec *workv1.ManifestWorkSpec) (string, error) {
	bare, err := withoutRequest(spec)
	if err != nil {
		return "", err
	}
	return specHash(bare)
}

// specHash identifies a work's spec. The scrape types are left out: an older CRD
// drops them, and then the stored spec is still as good as it can be.
func specHash(spec *workv1.ManifestWorkSpec) (string, error) {
	hash := sha256.New()
	for i := range spec.Workload.Manifests {
		raw := spec.Workload.Manifests[i].Raw
		_, _ = fmt.Fprintf(hash, "%d:", len(raw)) // a hash never fails to write
		_, _ = hash.Write(raw)
	}
	rest := *spec
	rest.Workload = workv1.ManifestsTemplate{}
	rest.ManifestConfigs = make([]workv1.ManifestConfigOption, len(spec.ManifestConfigs))
	for i, config := range spec.ManifestConfigs {
		config.FeedbackScrapeType = ""
		rest.ManifestConfigs[i] = config
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return "", fmt.Errorf("encode ManifestWork options: %w", err)
	}
	_, _ = hash.Write(raw)
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}
