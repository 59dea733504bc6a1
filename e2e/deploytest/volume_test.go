// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// The volume's limit is twice the limit of resourcesync's files, because the kubelet evicts a pod with
// a full volume.
func TestVolume_neverFills(t *testing.T) {
	for _, v := range variants {
		volumes, _, _ := unstructured.NestedSlice(find(t, kustomize(t, v.overlay), "Deployment").Object, "spec", "template", "spec", "volumes")
		var limit resource.Quantity
		for _, each := range volumes {
			if text, found, _ := unstructured.NestedString(each.(map[string]any), "emptyDir", "sizeLimit"); found {
				limit = resource.MustParse(text)
			}
		}
		if limit.Value() < 2*intermediate.MaxDirectoryBytes {
			t.Errorf("%s: the volume's limit is %s, resourcesync may write %d bytes: want twice as much", v.overlay, limit.String(), intermediate.MaxDirectoryBytes)
		}
	}
}
