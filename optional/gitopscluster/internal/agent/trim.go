// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are limits for the parts of an object that its managed cluster may write.
const (
	// maxSpec is larger than any spec of ours, and maxSpecManifests than its number of manifests.
	maxSpec          = MaxManifestBytes + 100<<10
	maxSpecManifests = maxManifests + 20
	// maxReported is how many reports about manifests with our names are kept. One for each
	// namespace is normal.
	maxReported = 4
	// maxRegistrations is larger than our registrations as JSON.
	maxRegistrations = 4 << 10
)

// workAnnotations are the annotations of works that are read.
var workAnnotations = []string{
	contract.RegisteredByAnnotation, OwnerAnnotation, ArgoNamespaceAnnotation, CertificatesAnnotation,
	ClientCertificateAnnotation,
}

// Transform is the transform of a cache of works and add-ons. It drops the fields that nobody reads,
// and limits the other ones that a managed cluster may write. So a managed cluster cannot decide how
// much memory the cache needs.
func Transform(in any) (any, error) {
	switch o := in.(type) {
	case *workv1.ManifestWork:
		trimWork(o)
	case *addonv1alpha1.ManagedClusterAddOn:
		trimAddOn(o)
	}
	return in, nil
}

// trimWork trims a work, of which the managed cluster may write every field. A spec that is larger
// than any of ours is dropped as a whole, so that it differs from the desired spec.
func trimWork(work *workv1.ManifestWork) {
	annotations := map[string]string{}
	for _, key := range workAnnotations {
		if value, found := work.Annotations[key]; found && len(value) <= contract.MaxMessage {
			annotations[key] = value
		}
	}
	labels := map[string]string{}
	if value, found := work.Labels[OwnedLabel]; found {
		labels[OwnedLabel] = value
	}
	work.ObjectMeta = metav1.ObjectMeta{
		Namespace: work.Namespace, Name: work.Name, UID: work.UID, ResourceVersion: work.ResourceVersion,
		Generation: work.Generation, CreationTimestamp: work.CreationTimestamp, DeletionTimestamp: work.DeletionTimestamp,
		Labels: labels, Annotations: annotations,
	}
	if tooLarge(work.Spec) {
		work.Spec = workv1.ManifestWorkSpec{}
	}
	work.Status = workv1.ManifestWorkStatus{
		Conditions:     limited(work.Status.Conditions, workv1.WorkApplied),
		ResourceStatus: workv1.ManifestResourceStatus{Manifests: reports(work.Status.ResourceStatus.Manifests)},
	}
}

// tooLarge reports whether a spec is larger than any spec of ours.
func tooLarge(spec workv1.ManifestWorkSpec) bool {
	manifests, size := spec.Workload.Manifests, 0
	for i := range manifests {
		size += len(manifests[i].Raw)
	}
	spec.Workload.Manifests = nil
	rest, err := json.Marshal(spec)
	return err != nil || size+len(rest) > maxSpec || max(len(manifests), len(spec.ManifestConfigs)) > maxSpecManifests
}

// reports returns the reports about the Deployment and the client certificate's Secret, and about
// some manifests that could not be applied.
func reports(all []workv1.ManifestCondition) (kept []workv1.ManifestCondition) {
	reported, failed := 0, 0
	for _, m := range contract.Clip(all, contract.MaxManifests, &contract.Rejected{}) {
		read := hasFeedback(m.ResourceMeta) && reported < maxReported
		conditions := limited(m.Conditions, workv1.ManifestApplied, workv1.ManifestAvailable)
		applied := meta.FindStatusCondition(conditions, workv1.ManifestApplied)
		switch {
		case read:
			reported++
		case applied != nil && applied.Status != metav1.ConditionTrue && failed < contract.MaxFailures:
			failed++
		default:
			continue
		}
		r := m.ResourceMeta
		report := workv1.ManifestCondition{Conditions: conditions, ResourceMeta: workv1.ManifestResourceMeta{
			Group: name(r.Group), Kind: name(r.Kind), Resource: name(r.Resource),
			Namespace: name(r.Namespace), Name: name(r.Name),
		}}
		if read {
			report.StatusFeedbacks.Values = feedback(m.StatusFeedbacks.Values)
		}
		kept = append(kept, report)
	}
	return kept
}

// hasFeedback reports whether a work asks for feedback of a manifest, in any namespace.
func hasFeedback(r workv1.ManifestResourceMeta) bool {
	is := id(r.Group, r.Resource, "", r.Name)
	return is == id("apps", "deployments", "", DeploymentName) || is == clientSecretID("")
}

// feedback returns the values that works ask for. A text that is too long is left out, because a
// part is another value.
func feedback(all []workv1.FeedbackValue) (kept []workv1.FeedbackValue) {
	v := valuesOf(&workv1.ManifestCondition{StatusFeedbacks: workv1.StatusFeedbackResult{Values: all}})
	keep := func(name string, value workv1.FieldValue) {
		kept = append(kept, workv1.FeedbackValue{Name: name, Value: value})
	}
	for _, path := range append(deploymentPaths(), secretPaths()...) {
		limit := maxImage
		if path.Name == feedbackCertificate {
			limit = maxCertificate
		}
		if number, found := v.numbers[path.Name]; found {
			keep(path.Name, workv1.FieldValue{Type: workv1.Integer, Integer: &number})
		}
		if text, found := v.text[path.Name]; found && len(text) <= limit {
			keep(path.Name, workv1.FieldValue{Type: workv1.String, String: &text})
		}
	}
	return kept
}

// trimAddOn trims an add-on, of which the managed cluster may write the status.
func trimAddOn(a *addonv1alpha1.ManagedClusterAddOn) {
	a.ManagedFields = nil
	status := addonv1alpha1.ManagedClusterAddOnStatus{
		Namespace: name(a.Status.Namespace), Registrations: a.Status.Registrations,
		Conditions: limited(a.Status.Conditions, conditionAvailable, conditionRotated),
	}
	if a.Status.HealthCheck == HealthCheck() {
		status.HealthCheck = a.Status.HealthCheck
	}
	if text, err := json.Marshal(status.Registrations); err != nil || len(text) > maxRegistrations {
		status.Registrations = nil
	}
	a.Status = status
}

// limited returns the first condition of each type, with limited texts.
func limited(all []metav1.Condition, types ...string) (kept []metav1.Condition) {
	all = contract.Clip(all, contract.MaxConditions, &contract.Rejected{})
	for _, t := range types {
		if c := meta.FindStatusCondition(all, t); c != nil {
			kept = append(kept, metav1.Condition{
				Type: t, Status: c.Status, ObservedGeneration: c.ObservedGeneration,
				Reason:             contract.Token(c.Reason, &contract.Rejected{}),
				Message:            contract.Message(c.Message, &contract.Rejected{}),
				LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return kept
}

func name(s string) string { return contract.Name(s, &contract.Rejected{}) }
