// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// CarriedRequest returns the request in the work while the hub requests something else.
func TestCarriedRequest(t *testing.T) {
	const hub = `{"sync":{"revision":"hub"}}`
	for name, c := range map[string]struct {
		reason             string
		manifests          []string
		operation, refresh string // of the returned request
		broken             bool
	}{
		"operation": {reason: "the work's own", manifests: []string{`{"operation":{"sync":{"revision":"work"}}}`}, operation: `{"sync":{"revision":"work"}}`},
		"refresh":   {reason: "and its refresh", manifests: []string{`{"metadata":{"annotations":{"` + argocd.RefreshAnnotation + `":"hard"}}}`}, refresh: "hard"},
		"last":      {reason: "of the Application, which is the last", manifests: []string{`{"operation":{"of":"another"}}`, `{"operation":{}}`}, operation: `{}`},
		"none":      {reason: "one that carries none goes on without", manifests: []string{`{}`}},
		"empty":     {reason: "a work that somebody has emptied has nothing to keep", operation: hub, refresh: "normal"},
		"broken":    {reason: "what cannot be read is said", manifests: []string{`[]`}, operation: hub, refresh: "normal", broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &workv1.ManifestWorkSpec{}
			for _, raw := range c.manifests {
				spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
			}
			got, err := CarriedRequest(spec, request.Request{ID: "id", Operation: json.RawMessage(hub), Refresh: "normal"})
			if (err != nil) != c.broken {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			want := request.Request{ID: "id", Operation: json.RawMessage(c.operation), Refresh: c.refresh}
			if c.operation == "" {
				want.Operation = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// If the API server stores a spec in another form, the spec counts as written until the stored form changes.
func TestStoredOf_acceptsAnotherStoredForm(t *testing.T) {
	spec := workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{}`)}}}}}
	is, err := SpecHash(&spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ reason, note, want string }{
		"none":    {reason: "it is stored as it was written", want: is},
		"noted":   {reason: "what was written became this", note: "written/" + is, want: "written"},
		"edited":  {reason: "another writer has changed it since", note: "written/other", want: is},
		"invalid": {reason: "an agent may write anything there", note: is, want: is},
	} {
		work := &workv1.ManifestWork{Spec: spec, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "6"}}
		if c.note != "" {
			work.Annotations = map[string]string{contract.StoredSpecAnnotation: c.note}
		}
		current := cached(work)
		if current.Stored.Hash != c.want {
			t.Errorf("%s: %s: the hash is %s, want %s", name, c.reason, current.Stored.Hash, c.want)
		}
		patch, err := StoredSpecPatch(current, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}, "next")
		if err != nil || !strings.Contains(string(patch), `"next/`+is+`"`) || !strings.Contains(string(patch), `"7"`) {
			t.Errorf("%s: the note becomes %s, %v; want it of %s at version 7", name, patch, err, is)
		}
	}
}
