// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// fieldManager tells our fields on a managed cluster from those of other works.
const fieldManager = workv1.DefaultFieldManager + "-" + WorkName

// Work returns the ManifestWork that delivers Argo CD. now is when it changes.
//
// When it is deleted, only what runs goes, with its rights: what a cluster's Applications
// and their workloads need to stay, and what its users have set, is not removed.
func Work(w Wanted, now time.Time) (*workv1.ManifestWork, error) {
	list, err := objects(w)
	if err != nil {
		return nil, err
	}
	digest, err := digestOf(list, w)
	if err != nil {
		return nil, err
	}
	spec, orphans := workv1.ManifestWorkSpec{}, []workv1.OrphaningRule(nil)
	for _, o := range list {
		config := configOf(o, w)
		if runs(o) {
			annotate(o, digest)
			config.FeedbackRules = []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: paths(o)}}
			config.FeedbackScrapeType = workv1.FeedbackWatchType
		}
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
		spec.ManifestConfigs = append(spec.ManifestConfigs, config)
		if stays(o) {
			orphans = append(orphans, workv1.OrphaningRule(config.ResourceIdentifier))
		}
	}
	annotations := map[string]string{DigestAnnotation: digest, SinceAnnotation: now.UTC().Format(time.RFC3339)}
	return work(w, spec, orphans, annotations), nil
}

// LookWork returns the ManifestWork of the same name that looks whether the cluster has an
// Argo CD already, and changes nothing.
func LookWork(w Wanted) *workv1.ManifestWork {
	looked := others(w.Namespace)
	spec, orphans := workv1.ManifestWorkSpec{}, make([]workv1.OrphaningRule, 0, len(looked))
	for _, o := range looked {
		config := workv1.ManifestConfigOption{
			ResourceIdentifier: identify(o),
			FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{{Name: feedbackGeneration, Path: ".metadata.resourceVersion"}}}},
			FeedbackScrapeType: workv1.FeedbackWatchType,
			UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly},
		}
		raw, _ := json.Marshal(o.Object) // strings only
		spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
		spec.ManifestConfigs = append(spec.ManifestConfigs, config)
		orphans = append(orphans, workv1.OrphaningRule(config.ResourceIdentifier))
	}
	return work(w, spec, orphans, map[string]string{})
}

// others are what another Argo CD would have: one in this namespace, by its controller, or
// one elsewhere that may deploy to the whole cluster, by the binding which ours would change.
func others(namespace string) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object(appsGroup+"/v1", "StatefulSet", namespace, controllerName, nil),
		object(appsGroup+"/v1", "StatefulSet", namespace, openshiftController, nil),
		object(rbacGroup+"/v1", "ClusterRoleBinding", "", controllerName, nil),
	}
}

func work(w Wanted, spec workv1.ManifestWorkSpec, orphans []workv1.OrphaningRule, annotations map[string]string) *workv1.ManifestWork {
	spec.DeleteOption = &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: orphans},
	}
	maps.Copy(annotations, map[string]string{OwnerAnnotation: w.Owner.String(), contract.RegisteredByAnnotation: contract.RegisteredBy})
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Cluster, Name: WorkName, Labels: map[string]string{OwnedLabel: "true"}, Annotations: annotations},
		Spec:       spec,
	}
}

func configOf(o *unstructured.Unstructured, w Wanted) workv1.ManifestConfigOption {
	config := workv1.ManifestConfigOption{ResourceIdentifier: identify(o), FeedbackScrapeType: workv1.FeedbackPollType}
	switch o.GetKind() {
	case "Namespace", "AppProject": // as they are, if they are there
		config.UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly}
	case "CustomResourceDefinition": // OCM's work agent may update these, and not patch them
		config.UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeUpdate}
	default: // a field that another client has set otherwise is a conflict, which the agent reports
		config.UpdateStrategy = &workv1.UpdateStrategy{
			Type:            workv1.UpdateStrategyTypeServerSideApply,
			ServerSideApply: &workv1.ServerSideApplyConfig{FieldManager: fieldManager, Force: w.TakeOver},
		}
	}
	return config
}

func identify(o *unstructured.Unstructured) workv1.ResourceIdentifier {
	gvk := o.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return id(gvk.Group, resource.Resource, o.GetNamespace(), o.GetName())
}

// runs reports whether an object is what a delivery is ready by.
func runs(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Deployment", "StatefulSet", "ArgoCD":
		return true
	}
	return false
}

// stays reports whether an object outlives the delivery. Without the definitions every
// Application would go, and with the namespace, too; Applications with a finalizer wait for
// a controller, and nothing is pruned. The work agent's role is what it needs to remove an
// ArgoCD, and what other works are applied with.
func stays(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Namespace", "CustomResourceDefinition", "AppProject", "ConfigMap", "Secret":
		return true
	}
	return o.GetName() == workAgentRole
}

func annotate(o *unstructured.Unstructured, digest string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[DigestAnnotation] = digest
	o.SetAnnotations(annotations)
}

// Digest is the [DigestAnnotation] of the work that delivers what is wanted. It is the same
// for clusters that want the same.
func Digest(w Wanted) (string, error) {
	list, err := objects(w)
	if err != nil {
		return "", err
	}
	return digestOf(list, w)
}

func digestOf(list []*unstructured.Unstructured, w Wanted) (string, error) {
	raw, err := json.Marshal(struct {
		Objects  []*unstructured.Unstructured
		TakeOver bool
	}{list, w.TakeOver})
	if err != nil {
		return "", fmt.Errorf("digest what is delivered to managed cluster %s: %w", w.Cluster, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}

// paths say that what runs is what was delivered, and whether it is ready.
func paths(o *unstructured.Unstructured) []workv1.JsonPath {
	digest := workv1.JsonPath{Name: feedbackDigest, Path: ".metadata.annotations['" + strings.ReplaceAll(DigestAnnotation, ".", `\.`) + "']"}
	if o.GetKind() == "ArgoCD" {
		return []workv1.JsonPath{digest, {Name: feedbackPhase, Path: ".status.phase"}}
	}
	return []workv1.JsonPath{
		digest,
		{Name: feedbackReady, Path: ".status.readyReplicas"},
		{Name: feedbackUpdated, Path: ".status.updatedReplicas"},
		{Name: feedbackReplicas, Path: ".status.replicas"},
		{Name: feedbackObserved, Path: ".status.observedGeneration"},
		{Name: feedbackGeneration, Path: ".metadata.generation"},
	}
}
