// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	cluster = "cluster1"
	name    = "everything"
)

var (
	hub  *env.Cluster
	crds = filepath.Join(testkit.Root(), "bin", "crds-next", "argocd")
)

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{
		HubOnly: true, ArgoCDCRDs: crds, Product: []string{env.Propagation, env.Aggregation},
		Arguments: map[string][]string{env.Propagation: {"--cluster-binding=none", "--deliver-project"}},
	}, func(_ context.Context, f *env.Fleet) error {
		hub = f.Hub
		return nil
	}))
}

// An Application and its project with every field of a schema that is newer than our types are delivered
// without loss.
func TestDelivery_keepsEveryField(t *testing.T) {
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster}})
	create(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})

	project := filled(t, "appproject-crd.yaml", argocd.AppProjectKind, "spec")
	set(t, project, []any{map[string]any{"server": "*", "namespace": "*"}}, "spec", "destinations")
	// The pattern "*" applies to every destination and is delivered unchanged.
	windows, _, err := unstructured.NestedSlice(project.Object, "spec", "syncWindows")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range windows {
		if window, ok := w.(map[string]any); ok {
			window["clusters"] = []any{"*"}
		}
	}
	set(t, project, windows, "spec", "syncWindows")
	application := filled(t, "application-crd.yaml", argocd.ApplicationKind, "spec", "operation")
	set(t, application, name, "spec", "project")
	// With a hydrator the cluster would sync the hydrated source, and no field of spec.source would be
	// delivered.
	unstructured.RemoveNestedField(application.Object, "spec", "sourceHydrator")
	application.SetLabels(map[string]string{contract.PullLabel: "true"})
	application.SetAnnotations(map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"})
	create(t, project)
	create(t, application)

	manifests := delivered(t)
	set(t, application, map[string]any{"server": argocd.InClusterServer, "namespace": "text"}, "spec", "destination")
	for _, want := range []*unstructured.Unstructured{project, application} {
		got := manifests[want.GetKind()]
		if got == nil {
			t.Errorf("no %s is delivered", want.GetKind())
			continue
		}
		for _, part := range []string{"spec", "operation"} {
			if diff := cmp.Diff(want.Object[part], got.Object[part]); diff != "" {
				t.Errorf("%s of the %s (-hub +delivered):\n%s", part, want.GetKind(), diff)
			}
		}
		t.Logf("%s: %d values", want.GetKind(), fields(want.Object["spec"])+fields(want.Object["operation"]))
	}
}

// filled returns an object of a CRD with every field of the given parts.
func filled(t *testing.T, file, kind string, parts ...string) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(crds, file))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &crd); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(argocd.GroupVersion.WithKind(kind))
	o.SetNamespace(env.ArgoCDNamespace)
	o.SetName(name)
	for _, part := range parts {
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part]
		o.Object[part] = fill(t, &schema)
	}
	return o
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// create creates an object. The API server must store it unchanged.
func create(t *testing.T, o client.Object) {
	t.Helper()
	sent, isUnstructured := o.DeepCopyObject().(*unstructured.Unstructured)
	if err := hub.Client.Create(t.Context(), o, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Fatal(err)
	}
	if !isUnstructured {
		return
	}
	kept, ok := o.(*unstructured.Unstructured)
	if !ok {
		t.Fatalf("%T", o)
	}
	if diff := cmp.Diff(sent.Object["spec"], kept.Object["spec"]); diff != "" {
		t.Fatalf("the API server kept (-sent +kept):\n%s", diff)
	}
}

// delivered returns the manifests of the ManifestWork, by kind.
func delivered(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	var works workv1.ManifestWorkList
	env.Await(t, "the ManifestWork", func(ctx context.Context) (bool, string) {
		err := hub.Client.List(ctx, &works, client.InNamespace(cluster))
		return err == nil && len(works.Items) == 1, fmt.Sprint(len(works.Items), " ", err)
	})
	manifests := map[string]*unstructured.Unstructured{}
	for _, manifest := range works.Items[0].Spec.Workload.Manifests {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(manifest.Raw); err != nil {
			t.Fatal(err)
		}
		manifests[o.GetKind()] = o
	}
	return manifests
}
