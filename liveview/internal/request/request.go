// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package request is what viewer and observer agree on: the ManifestWork by which the hub asks a
// managed cluster for the view of an Application, and what comes back. It is pure.
package request

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// Label marks ManifestWorks and ConfigMaps of views.
	Label = "apps.open-cluster-management.io/liveview"
	// InstanceAnnotation of a ManifestWork is the name that the hub's Argo CD has for the
	// Application.
	InstanceAnnotation = "apps.open-cluster-management.io/liveview-instance"
	// namePrefix begins the names of ManifestWorks and ConfigMaps.
	namePrefix = "liveview-"
)

// Keys of the ConfigMap.
const (
	// ApplicationKey of its data is namespace/name of the Application on the managed cluster.
	ApplicationKey = "application"
	// MessageKey of its data is why there is no view.
	MessageKey = "message"
	// SourceKey of its data is a digest of what the view was made from.
	SourceKey = "source"
	// ViewKey of its binary data is the view.
	ViewKey = "view"
)

// Name returns the name of the ManifestWork and the ConfigMap of an instance.
func Name(instance string) string {
	sum := sha256.Sum256([]byte(instance))
	return namePrefix + hex.EncodeToString(sum[:10])
}

// Work returns the ManifestWork that asks a cluster for the view of an Application, which
// is namespace/name there. observer is the namespace of the observer.
func Work(instance, cluster, application, observer string) (*workv1.ManifestWork, error) {
	name := Name(instance)
	labels := map[string]string{Label: "true"}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": observer, "name": name, "labels": labels},
		"data":     map[string]string{ApplicationKey: application},
	})
	if err != nil {
		return nil, fmt.Errorf("write the ConfigMap of %s: %w", instance, err)
	}
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, Name: name, Labels: labels,
			Annotations: map[string]string{InstanceAnnotation: instance},
		},
		Spec: workv1.ManifestWorkSpec{
			Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}},
			ManifestConfigs: []workv1.ManifestConfigOption{{
				ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: observer, Name: name},
				// The agent leaves alone what it does not apply, which is what the observer writes.
				UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply},
				FeedbackScrapeType: workv1.FeedbackWatchType,
				FeedbackRules: []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{
					{Name: MessageKey, Path: ".data." + MessageKey}, {Name: ViewKey, Path: ".binaryData." + ViewKey},
				}}},
			}},
		},
	}, nil
}

// Application returns namespace/name for which a work asks, "" for one that is not as
// [Work] makes it.
func Application(work *workv1.ManifestWork) string {
	for i := range work.Spec.Workload.Manifests {
		var requested struct{ Data map[string]string }
		if json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &requested) == nil && requested.Data[ApplicationKey] != "" {
			return requested.Data[ApplicationKey]
		}
	}
	return ""
}

// Result is what a managed cluster last reported.
type Result struct {
	// View is base64, see package view; it is not checked.
	View string
	// Message is why there is none, or what it is without; it is cut to maxMessage bytes.
	Message string
}

const maxMessage = 512

// ResultOf reads the feedback of a work.
func ResultOf(work *workv1.ManifestWork) (r Result) {
	for i := range work.Status.ResourceStatus.Manifests {
		for _, v := range work.Status.ResourceStatus.Manifests[i].StatusFeedbacks.Values {
			switch {
			case v.Value.String == nil:
			case v.Name == ViewKey:
				r.View = *v.Value.String
			case v.Name == MessageKey:
				r.Message = (*v.Value.String)[:min(len(*v.Value.String), maxMessage)]
			}
		}
	}
	return r
}
