// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// fieldManager separates our fields on a managed cluster from the fields of other works. With the
// agent's default name, two works with the same object would change it in turn, and neither would
// report a conflict.
const fieldManager = workv1.DefaultFieldManager + "-" + AddOnName

// ErrBadManifests is wrapped by errors about [Desired.Manifests].
var ErrBadManifests = errors.New("the manifests that are to go along are refused")

// builder collects a work's manifests. The agent applies them in order.
type builder struct {
	spec    workv1.ManifestWorkSpec
	orphans []workv1.OrphaningRule
	err     error
}

func (b *builder) add(manifest any, config workv1.ManifestConfigOption) {
	raw, err := json.Marshal(manifest)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	b.spec.Workload.Manifests = append(b.spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: withoutStatus(raw)}})
	b.spec.ManifestConfigs = append(b.spec.ManifestConfigs, config)
}

// withoutStatus drops the status, which a type marshals although nothing has set it.
func withoutStatus(raw []byte) []byte {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return raw
	}
	delete(object, "status")
	if stripped, err := json.Marshal(object); err == nil {
		return stripped
	}
	return raw
}

// apply adds an object that the work agent applies. A field that another client owns is a conflict,
// which the agent reports. The agent takes over no field of another client.
func (b *builder) apply(manifest any, id workv1.ResourceIdentifier, feedback ...workv1.JsonPath) {
	config := workv1.ManifestConfigOption{ResourceIdentifier: id, FeedbackScrapeType: workv1.FeedbackPollType, UpdateStrategy: &workv1.UpdateStrategy{
		Type:            workv1.UpdateStrategyTypeServerSideApply,
		ServerSideApply: &workv1.ServerSideApplyConfig{FieldManager: fieldManager},
	}}
	if len(feedback) > 0 {
		config.FeedbackRules = []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: feedback}}
		config.FeedbackScrapeType = workv1.FeedbackWatchType
	}
	b.add(manifest, config)
}

// orphan is apply for an object that stays after the work is deleted.
func (b *builder) orphan(manifest any, id workv1.ResourceIdentifier) {
	b.apply(manifest, id)
	b.orphans = append(b.orphans, workv1.OrphaningRule(id))
}

// addNamespace adds a namespace that is not changed if it exists.
func (b *builder) addNamespace(w Desired) {
	b.add(namespace(w), workv1.ManifestConfigOption{
		ResourceIdentifier: namespaceID(w), FeedbackScrapeType: workv1.FeedbackPollType,
		UpdateStrategy: &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
	})
	b.orphans = append(b.orphans, workv1.OrphaningRule(namespaceID(w)))
}

// addReadOnly adds a manifest that reports the content of the client certificate's Secret, and never
// changes the Secret.
func (b *builder) addReadOnly(manifest any, id workv1.ResourceIdentifier) {
	b.add(manifest, workv1.ManifestConfigOption{
		ResourceIdentifier: id,
		FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: secretPaths()}},
		FeedbackScrapeType: workv1.FeedbackWatchType,
		UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly},
	})
	b.orphans = append(b.orphans, workv1.OrphaningRule(id))
}

func (b *builder) work(cluster, name string, annotations map[string]string) (*workv1.ManifestWork, error) {
	if b.err != nil {
		return nil, fmt.Errorf("build ManifestWork %s/%s: %w", cluster, name, b.err)
	}
	b.spec.DeleteOption = &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: b.orphans},
	}
	annotations[contract.RegisteredByAnnotation] = contract.RegisteredBy
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name, Labels: map[string]string{OwnedLabel: "true"}, Annotations: annotations},
		Spec:       b.spec,
	}, nil
}
