// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
)

// The API server stores exactly the printed ManifestWork. Any difference would make the Application
// OutOfSync forever. A second apply does not change the generation.
func TestGenerate_printsWhatTheAPIServerStores(t *testing.T) {
	c, err := client.New(server, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}); err != nil {
		t.Fatal(err)
	}
	for name, app := range golden {
		t.Run(name, func(t *testing.T) {
			out, errs, err := app.generate(t, filepath.Join("testdata", "repository"))
			if err != nil {
				t.Fatalf("%v: %s", err, errs)
			}
			for _, w := range works(t, out) {
				printed := &unstructured.Unstructured{}
				text, err := json.Marshal(w)
				if err != nil {
					t.Fatal(err)
				}
				if err := printed.UnmarshalJSON(text); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					stored := printed.DeepCopy()
					if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(stored), client.FieldOwner("argocd-controller"), client.ForceOwnership); err != nil {
						t.Fatalf("%s: %v", w.Name, err)
					}
					if diff := cmp.Diff(printed.Object["spec"], stored.Object["spec"]); diff != "" {
						t.Errorf("%s: the API server changes it (-printed +stored):\n%s", w.Name, diff)
					}
					if stored.GetGeneration() != 1 {
						t.Errorf("%s: generation %d after applying the same twice", w.Name, stored.GetGeneration())
					}
				}
			}
		})
	}
}

// Resource and scope of every built-in kind of the API server are known without discovery.
func TestTypes_agreeWithDiscovery(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	types := manifest.NewTypes(nil, nil, nil)
	checked := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		// The hub's CustomResourceDefinitions are not built in. A source must name their resources.
		if gv.Group == "argoproj.io" || strings.HasSuffix(gv.Group, ".open-cluster-management.io") {
			continue
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			checked++
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			if types.Resource(gk) != r.Name || types.IsClusterScoped(gk) == r.Namespaced {
				t.Errorf("%s: resource %s, cluster-scoped %t; the API server has %s, namespaced %t", gk, types.Resource(gk), types.IsClusterScoped(gk), r.Name, r.Namespaced)
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d resources were compared", checked)
	}
}
