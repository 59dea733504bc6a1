// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// What a work carries stays what it carries while the hub asks for something else.
func TestCarriedRequest(t *testing.T) {
	const hub = `{"sync":{"revision":"hub"}}`
	for name, c := range map[string]struct {
		reason             string
		manifests          []string
		operation, refresh string // of the request that is returned
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
