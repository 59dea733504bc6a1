// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func containers(t *testing.T, deployment *unstructured.Unstructured) []map[string]any {
	t.Helper()
	want := len(binaries)
	if deployment.GetName() != namespace {
		want = 1 // an optional component
	}
	list, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(list) != want {
		t.Fatalf("%d containers, want %d: %v", len(list), want, err)
	}
	all := make([]map[string]any, 0, len(list))
	for _, c := range list {
		all = append(all, c.(map[string]any))
	}
	return all
}

func argsOf(t *testing.T, deployment *unstructured.Unstructured, name string) []string {
	t.Helper()
	for _, c := range containers(t, deployment) {
		if c["name"] == name {
			args, _, _ := unstructured.NestedStringSlice(c, "args")
			return args
		}
	}
	t.Fatalf("no container %s", name)
	return nil
}

// product returns the path of a binary of this checkout. TestMain has built it.
func product(name string) string { return filepath.Join(testkit.Root(), "bin", "product", name) }

// The binaries of this commit accept the command lines of every variant. The tag of each image is the version
// that the binary reports, and the ports are the binary's default ports.
func TestDeployment_fitsTheBinaries(t *testing.T) {
	deployments := map[string]*unstructured.Unstructured{}
	for _, v := range variants {
		deployments[v.overlay] = find(t, kustomize(t, v.overlay), "Deployment")
	}
	gitopsclusters := byIdentity(t, kustomize(t, "ocm", "gitopsclusters", "gitopsclusters-agent"))
	for _, id := range []string{trio, trio + "-gitopscluster"} {
		deployments["with "+id] = &unstructured.Unstructured{Object: gitopsclusters[id]}
	}
	for _, name := range []string{"placement", "page"} {
		deployments["with "+trio+"-"+name] = &unstructured.Unstructured{Object: byIdentity(t, kustomize(t, "ocm", name))[trio+"-"+name]}
	}
	for variant, deployment := range deployments {
		for _, c := range containers(t, deployment) {
			name := c["name"].(string)
			t.Run(variant+"/"+name, func(t *testing.T) {
				binary := product(name)
				// The binary parses all flags before it handles --version, so an unknown flag fails.
				out, _ := run(t, binary, append(argsOf(t, deployment, name), "--version")...)
				version := strings.Fields(out)[1]
				if want := fmt.Sprintf("registry.invalid/multicluster-integrations/%s:%s", name, version); c["image"] != want {
					t.Errorf("image %v, but the binary reports %s", c["image"], want)
				}
				_, usage, err := try(t, binary, "-h")
				if err != nil {
					t.Fatal(err)
				}
				ports, _, _ := unstructured.NestedSlice(c, "ports")
				for _, p := range ports {
					if port := fmt.Sprintf(`(default ":%v")`, p.(map[string]any)["containerPort"]); !strings.Contains(usage, port) {
						t.Errorf("no flag of %s has %s", name, port)
					}
				}
			})
		}
	}
}

func TestChart_hasTheVersionOfTheBinaries(t *testing.T) {
	var versions []string
	for _, b := range binaries {
		versions = append(versions, strings.Fields(first(run(t, product(b), "--version")))[1])
	}
	chart := readFile(t, filepath.Join(testkit.Root(), "deploy", "chart", "Chart.yaml"))
	if !strings.Contains(chart, "\nappVersion: "+slices.Max(versions)+"\n") {
		t.Errorf("Chart.yaml's appVersion is not the newest of %v", versions)
	}
}

func first(a, _ string) string { return a }
