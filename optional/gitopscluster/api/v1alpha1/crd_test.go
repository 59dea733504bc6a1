// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub dynamic.Interface

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		hub, err = dynamic.NewForConfig(c)
		return err
	})
}

const (
	ours        = "../../../../deploy/components/gitopsclusters/apps.open-cluster-management.io_gitopsclusters.yaml"
	peerBeta    = "../testdata/peer-v1beta1.yaml"
	peerAlpha   = "../testdata/peer-v1alpha1.yaml"
	betaObject  = `{placementRef: {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, name: all, namespace: elsewhere}, argoServer: {argoNamespace: argocd, cluster: local-cluster}, managedServiceAccountRef: msa, createBlankClusterSecrets: true, createPolicyTemplate: true, gitopsAddon: {enabled: true, gitOpsOperatorImage: image, overrideExistingConfigs: true, olmSubscription: {enabled: true, name: sub, namespace: ns, channel: c, source: s, sourceNamespace: sn, installPlanApproval: Manual}, argoCDAgent: {enabled: true, serverAddress: a, serverPort: "443", mode: managed, propagateHubCA: true}}}`
	alphaObject = `{placementRef: {kind: Placement, name: all}, argoCDAgentAddon: {mode: managed, principalServerAddress: a, principalServerPort: "443", operatorNamespace: operator, agentNamespace: agent, argoCDCRManifestWork: {manifests: [{apiVersion: argoproj.io/v1beta1, kind: ArgoCD, metadata: {name: a}, spec: {unknown: {to: [all, 1]}}}]}}}`
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func clusters(version string) dynamic.ResourceInterface {
	return hub.Resource(schema.GroupVersionResource{Group: GroupVersion.Group, Version: version, Resource: "gitopsclusters"}).Namespace("default")
}

func decode(t *testing.T, text string) (into map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &into); err != nil {
		t.Fatal(err)
	}
	return into
}

func crd(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: decode(t, string(text))}
}

// replace creates or replaces a CRD, as kubectl replace does.
func replace(t *testing.T, file string) error {
	t.Helper()
	ctx, want := context.Background(), crd(t, file)
	is, err := hub.Resource(crds).Get(ctx, want.GetName(), getOptions)
	if apierrors.IsNotFound(err) {
		_, err = hub.Resource(crds).Create(ctx, want, createOptions)
		return err
	}
	if err != nil {
		return err
	}
	want.SetResourceVersion(is.GetResourceVersion())
	_, err = hub.Resource(crds).Update(ctx, want, updateOptions)
	return err
}

// fresh installs a CRD that does not exist yet. After the test it deletes the CRD with all objects.
func fresh(t *testing.T, file, version string) {
	t.Helper()
	if err := replace(t, file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = hub.Resource(crds).Delete(context.Background(), v1beta1.CRDName, deleteOptions)
		testkit.Eventually(t, "the CRD to be gone", func() error {
			if _, err := hub.Resource(crds).Get(context.Background(), v1beta1.CRDName, getOptions); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %w", errors.Join(err, errors.New("found")))
			}
			return nil
		})
	})
	served(t, version)
}

func served(t *testing.T, version string) {
	t.Helper()
	testkit.Eventually(t, version+" to be served", func() error {
		_, err := clusters(version).List(context.Background(), listOptions)
		return err
	})
}

func object(t *testing.T, version, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": GroupVersion.Group + "/" + version, "kind": v1beta1.Kind,
		"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": decode(t, spec),
	}}
}

func create(t *testing.T, version, name, spec string) *unstructured.Unstructured {
	t.Helper()
	var made *unstructured.Unstructured
	testkit.Eventually(t, "creation of "+name, func() (err error) { // the API server serves a new CRD slightly before it can store objects
		made, err = clusters(version).Create(context.Background(), object(t, version, name, spec), createOptions)
		return err
	})
	return made
}

func stored(t *testing.T, version, name string) map[string]any {
	t.Helper()
	o, err := clusters(version).Get(context.Background(), name, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	return o.Object
}

// Objects created under another project's CRD keep every field under our CRD, in both versions. A status
// written in one version is read in the other. A rewrite, as in a storage migration, loses nothing.
func TestCRD_keepsObjectsOfPeers(t *testing.T) {
	for name, c := range map[string]struct{ file, version, spec string }{
		"v1beta1":  {peerBeta, "v1beta1", betaObject},
		"v1alpha1": {peerAlpha, "v1alpha1", alphaObject},
	} {
		t.Run(name, func(t *testing.T) {
			fresh(t, c.file, c.version)
			before := create(t, c.version, "kept", c.spec).Object["spec"]
			if err := replace(t, ours); err != nil {
				t.Fatalf("apply ours over it: %v", err)
			}
			served(t, "v1beta1")
			served(t, "v1alpha1")
			same := func(when string) {
				t.Helper()
				for _, version := range []string{"v1beta1", "v1alpha1"} {
					if diff := cmp.Diff(before, stored(t, version, "kept")["spec"]); diff != "" {
						t.Errorf("%s, %s (-before +after):\n%s", when, version, diff)
					}
				}
			}
			same("under our CRD")
			for version, other := range map[string]string{"v1beta1": "v1alpha1", "v1alpha1": "v1beta1"} {
				o := &unstructured.Unstructured{Object: stored(t, version, "kept")}
				o.Object["status"] = map[string]any{"message": version, "clusters": map[string]any{"selected": int64(3), "registered": int64(3), "deployed": int64(0), "connected": int64(0), "leaving": int64(0), "taken": int64(0)}}
				o, err := clusters(version).UpdateStatus(context.Background(), o, updateOptions)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(o.Object["status"], stored(t, other, "kept")["status"]); diff != "" {
					t.Errorf("a status of %s read as %s:\n%s", version, other, diff)
				}
			}
			o := &unstructured.Unstructured{Object: stored(t, "v1beta1", "kept")} // as a storage migration does
			if _, err := clusters("v1beta1").Update(context.Background(), o, updateOptions); err != nil {
				t.Fatal(err)
			}
			same("after a rewrite in the stored version")
		})
	}
}

// Our CRD has more stored versions than the CRDs of the other projects. The API server rejects the CRD
// without v1beta1. It accepts the other one, and the controller detects that by the missing annotation.
func TestCRD_isReplacedOnlyByPeersWithV1beta1(t *testing.T) {
	fresh(t, ours, "v1beta1")
	served(t, "v1alpha1")
	create(t, "v1alpha1", "kept", alphaObject)
	if err := replace(t, peerAlpha); err == nil || !strings.Contains(err.Error(), "storedVersions") {
		t.Errorf("the CRD of v1alpha1 over ours: %v", err)
	}
	if err := replace(t, peerBeta); err != nil {
		t.Errorf("the CRD of v1beta1 over ours: %v", err)
	}
	o, err := hub.Resource(crds).Get(context.Background(), v1beta1.CRDName, getOptions)
	if err != nil || o.GetAnnotations()[v1beta1.ProvidedByAnnotation] != "" {
		t.Errorf("nothing tells that it is not ours: %v, %v", o.GetAnnotations(), err)
	}
}

// One Go type generates both schemas. A difference would lose data in a read.
func TestCRD_hasOneSchemaForBothVersions(t *testing.T) {
	o := crd(t, ours)
	if o.GetAnnotations()[v1beta1.ProvidedByAnnotation] != v1beta1.ProvidedBy {
		t.Errorf("annotations are %v", o.GetAnnotations())
	}
	versions, _, err := unstructured.NestedSlice(o.Object, "spec", "versions")
	if err != nil || len(versions) != 2 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	a, b := versions[0].(map[string]any), versions[1].(map[string]any)
	for _, field := range []string{"schema", "additionalPrinterColumns", "subresources", "served"} {
		if diff := cmp.Diff(a[field], b[field]); diff != "" {
			t.Errorf("%s differs:\n%s", field, diff)
		}
	}
	if a["name"] != "v1alpha1" || a["storage"] != false || b["storage"] != true {
		t.Errorf("%v stored: %v, %v stored: %v", a["name"], a["storage"], b["name"], b["storage"])
	}
	if strategy, found, _ := unstructured.NestedString(o.Object, "spec", "conversion", "strategy"); found && strategy != "None" {
		t.Errorf("conversion by %s", strategy)
	}
}

func TestCRD_rejectsInvalidSpecs(t *testing.T) {
	fresh(t, ours, "v1beta1")
	served(t, "v1alpha1")
	create(t, "v1beta1", "probe", `{placementRef: {kind: Placement, name: p}, argoServer: {argoNamespace: argocd}}`)
	cases := map[string]struct{ reason, spec, want string }{
		"both":      {"two shapes say two things", `{placementRef: {name: p}, argoServer: {argoNamespace: a}, argoCDAgentAddon: {}}`, "keep one shape"},
		"bothAddon": {"in every combination", `{placementRef: {name: p}, gitopsAddon: {enabled: true}, argoCDAgentAddon: {}}`, "keep one shape"},
		"neither":   {"without one nothing says which Argo CD", `{placementRef: {name: p}}`, "argoServer or argoCDAgentAddon is required"},
		"placement": {"without a placement nothing is selected", `{argoServer: {argoNamespace: a}}`, "placementRef"},
		"kind":      {"nothing else selects clusters", `{placementRef: {kind: PlacementRule, name: p}, argoServer: {}}`, "kind must be Placement"},
		"mode":      {"there is no third mode", `{placementRef: {name: p}, argoCDAgentAddon: {mode: both}}`, "mode must be managed or autonomous"},
		"addonMode": {"in either shape", `{placementRef: {name: p}, argoServer: {}, gitopsAddon: {argoCDAgent: {mode: both}}}`, "mode must be managed or autonomous"},
	}
	for name, c := range cases {
		for _, version := range []string{"v1beta1", "v1alpha1"} {
			_, err := clusters(version).Create(context.Background(), object(t, version, strings.ToLower(name), c.spec), createOptions)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s in %s: %s: %v", name, version, c.reason, err)
			}
		}
	}
	for name, spec := range map[string]string{
		"other": `{placementRef: {kind: Placement, name: p}, argoServer: {argoNamespace: other}}`,
		"none":  `{placementRef: {kind: Placement, name: p}, argoServer: {}}`,
		"shape": `{placementRef: {kind: Placement, name: p}, argoCDAgentAddon: {}}`,
	} {
		o := &unstructured.Unstructured{Object: stored(t, "v1beta1", "probe")}
		o.Object["spec"] = decode(t, spec)
		if _, err := clusters("v1beta1").Update(context.Background(), o, updateOptions); err == nil || !strings.Contains(err.Error(), "argoNamespace is immutable") {
			t.Errorf("another Argo CD (%s): %v", name, err)
		}
	}
}

// A watch decodes a list as a whole: one object that a Go type cannot read hides all others. Therefore the
// types read whatever a user may store in a spec.
func TestCRD_storesOnlySpecsThatTheTypesRead(t *testing.T) {
	fresh(t, ours, "v1beta1")
	spec, _, err := unstructured.NestedMap(crd(t, ours).Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	schema := spec["versions"].([]any)[1].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	read(t, &unstructured.Unstructured{Object: map[string]any{"spec": anyOf(schema["properties"].(map[string]any)["spec"].(map[string]any))}})
	for i, value := range []string{"60", "", "1d", "99999999h"} {
		read(t, create(t, "v1beta1", fmt.Sprintf("alive-%d", i), fmt.Sprintf(`{placementRef: {name: p}, argoServer: {}, agent: {keepAlive: %q}}`, value)))
	}
}

// read fails the test if the Go type cannot decode an object.
func read(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	text, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v1beta1.GitOpsCluster{}); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// anyOf returns a value for each field of a schema. It ignores patterns, which a former schema may not have had.
func anyOf(schema map[string]any) any {
	switch schema["type"] {
	case "object":
		object := map[string]any{}
		fields, _ := schema["properties"].(map[string]any)
		for name, field := range fields {
			object[name] = anyOf(field.(map[string]any))
		}
		return object
	case "array":
		return []any{anyOf(schema["items"].(map[string]any))}
	case "boolean":
		return true
	case "integer":
		return 1
	}
	return "any text"
}

// Our CRD accepts the examples from the other projects' guides.
func TestCRD_acceptsExamplesOfPeers(t *testing.T) {
	fresh(t, ours, "v1alpha1")
	served(t, "v1beta1")
	alpha := create(t, "v1alpha1", "alpha", `{placementRef: {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, name: placement}, argoCDAgentAddon: {mode: managed}}`)
	if diff := cmp.Diff(alpha.Object["spec"], stored(t, "v1beta1", "alpha")["spec"]); diff != "" {
		t.Errorf("read as v1beta1:\n%s", diff)
	}
	create(t, "v1beta1", "beta", `{argoServer: {cluster: local-cluster, argoNamespace: openshift-gitops}, placementRef: {kind: Placement, apiVersion: cluster.open-cluster-management.io/v1beta1, name: all, namespace: openshift-gitops}}`)
}
