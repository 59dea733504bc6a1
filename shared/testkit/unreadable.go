// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WriteUnreadableStatus gives an object a condition with a time that the API server admits and Go's
// type cannot hold. Until the end of the test, typed reads of the object fail.
func WriteUnreadableStatus(t *testing.T, c client.Client, apiVersion, kind string, key client.ObjectKey) {
	t.Helper()
	write := func(conditions string) error {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":`+conditions+`}}`))
		return c.Status().Patch(context.Background(), o, patch)
	}
	if err := write(`[{"type":"Odd","status":"True","reason":"Odd","message":"","lastTransitionTime":"2026-01-01T00:00:00z"}]`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := write("null"); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}
