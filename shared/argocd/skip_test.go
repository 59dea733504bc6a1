// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import "testing"

// Delivery and the mirror read the annotation as Argo CD does. Earlier, delivery required the text true, and
// the mirror a boolean.
func TestSkipsReconcile(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "t": true, "T": true, "1": true,
		"false": false, "0": false, "": false, "yes": false, "true ": false, "tRUE": false, "invalid-value": false,
	} {
		if got := SkipsReconcile(map[string]string{SkipReconcileAnnotation: value}); got != want {
			t.Errorf("%q: got %t, Argo CD says otherwise", value, got)
		}
	}
	if SkipsReconcile(nil) {
		t.Error("without annotations Argo CD's controller works on the Application")
	}
}
