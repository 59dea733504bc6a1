// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
)

// golden is the folder of hub Applications (*.hub.json) and of the delivered ones (*.delivered.json). The
// tests of package payload keep the files current.
var golden = filepath.Join("..", "..", "..", "propagation", "internal", "payload", "testdata", "golden")

// byMeaning compares embedded JSON without its white space, and ignores the field that Argo CD only has in
// memory.
var byMeaning = cmp.Options{
	cmpopts.IgnoreUnexported(v1alpha1.ApplicationDestination{}),
	cmp.Transformer("json", func(r runtime.RawExtension) (value any) {
		decoder := json.NewDecoder(bytes.NewReader(r.Raw))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			return string(r.Raw)
		}
		return value
	}),
}

// argoFinalizers are the finalizers that Argo CD handles.
var argoFinalizers = []string{
	v1alpha1.ResourcesFinalizerName, v1alpha1.ForegroundPropagationPolicyFinalizer, v1alpha1.BackgroundPropagationPolicyFinalizer,
	v1alpha1.PostDeleteFinalizerName, v1alpha1.PostDeleteFinalizerName + "/cleanup",
}

// With Argo CD's own types, a delivered Application equals the hub Application, except for its destination
// and for the fields that only the hub reads.
func TestDelivery_equalsTheHubApplication(t *testing.T) {
	for _, name := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			var hub, delivered v1alpha1.Application
			read(t, name+".hub.json", &hub)
			read(t, name+".delivered.json", &delivered)

			want := hub.DeepCopy()
			want.Spec.Destination.Name, want.Spec.Destination.Server = "", v1alpha1.KubernetesInternalAPIServerAddr
			if override := hub.Annotations["apps.open-cluster-management.io/destination-name"]; override != "" {
				want.Spec.Destination.Name, want.Spec.Destination.Server = override, ""
			}
			if want.Spec.SourceHydrator != nil { // the cluster syncs the source that the hub hydrates
				source := want.Spec.GetSource()
				want.Spec.Source, want.Spec.SourceHydrator = &source, nil
			}
			if diff := cmp.Diff(want.Spec, delivered.Spec, byMeaning); diff != "" {
				t.Errorf("spec (-hub +delivered):\n%s", diff)
			}
			if diff := cmp.Diff(want.Operation, delivered.Operation); diff != "" {
				t.Errorf("operation (-hub +delivered):\n%s", diff)
			}
			// A finalizer that Argo CD does not remove is not delivered.
			want.Finalizers = slices.DeleteFunc(want.Finalizers, func(f string) bool { return !slices.Contains(argoFinalizers, f) })
			if diff := cmp.Diff(want.Finalizers, delivered.Finalizers); diff != "" {
				t.Errorf("finalizers (-hub +delivered):\n%s", diff)
			}
			if delivered.Name != hub.Name || delivered.UID != "" || delivered.OwnerReferences != nil || delivered.ResourceVersion != "" {
				t.Errorf("metadata of the hub travelled along: %+v", delivered.ObjectMeta)
			}
			if diff := cmp.Diff(v1alpha1.ApplicationStatus{}, delivered.Status, byMeaning); diff != "" {
				t.Errorf("status was delivered:\n%s", diff)
			}
			for key, value := range hub.Annotations {
				if strings.HasPrefix(key, "notifications.") && delivered.Annotations[key] != value {
					t.Errorf("annotation %s is lost", key)
				}
			}
		})
	}
}

// Fields that Argo CD's types do not have are delivered too, with unchanged numbers and nulls.
func TestDelivery_keepsUnknownFields(t *testing.T) {
	for _, name := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			var hub, delivered struct {
				Spec map[string]any `json:"spec"`
			}
			read(t, name+".hub.json", &hub)
			read(t, name+".delivered.json", &delivered)
			for _, spec := range []map[string]any{hub.Spec, delivered.Spec} {
				destination, ok := spec["destination"].(map[string]any)
				if !ok {
					t.Fatalf("destination is %T", spec["destination"])
				}
				delete(destination, "name")
				delete(destination, "server")
			}
			if hub.Spec["sourceHydrator"] != nil { // see TestDelivery_equalsTheHubApplication
				delete(hub.Spec, "sourceHydrator")
				delete(hub.Spec, "source")
				delete(delivered.Spec, "source")
			}
			if diff := cmp.Diff(hub.Spec, delivered.Spec); diff != "" {
				t.Errorf("spec (-hub +delivered):\n%s", diff)
			}
		})
	}
}

func goldens(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden, "*.hub.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files in %s: %v", golden, err)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(path), ".hub.json")
	}
	return names
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(golden, file))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
