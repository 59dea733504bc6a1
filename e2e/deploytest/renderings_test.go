// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// renderings returns everything that ships, by its source. It finds overlays, components, values and switches
// in the folders and files of deploy, so a new one needs no line here.
func renderings(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := map[string][]*unstructured.Unstructured{}
	components := namesIn(t, "components")
	for _, overlay := range namesIn(t, "overlays") {
		all["overlay "+overlay] = kustomize(t, overlay)
		if strings.Contains(readFile(t, deployPath("overlays", overlay, "kustomization.yaml")), "\ncomponents:") {
			continue // it includes components, which kustomize rejects a second time
		}
		for _, c := range components {
			all["overlay "+overlay+" with "+c] = kustomize(t, overlay, withExtended(c, components)...)
		}
		all["overlay "+overlay+" with all"] = kustomize(t, overlay, components...)
	}
	for _, base := range chartBases(t) {
		name, everything := fmt.Sprint("chart ", base), base
		all[name] = chartIn(t, otherNamespace, base...)
		for _, set := range switches(t) {
			all[name+fmt.Sprint(" ", set)] = chartIn(t, otherNamespace, slices.Concat(base, set)...)
			if strings.HasSuffix(set[0], "=true") {
				everything = slices.Concat(everything, set)
			}
		}
		all[name+" all"] = chartIn(t, otherNamespace, everything...)
	}
	for _, folder := range namesIn(t, "monitoring") {
		all["monitoring "+folder] = shipped(t, filepath.Join("monitoring", folder))
	}
	for _, pattern := range []string{"liveview/*.yaml", "examples/*/*.yaml", "rendered/*/*.yaml"} {
		files := matches(t, pattern)
		for _, file := range files {
			folder := filepath.Dir(file)
			if !slices.Contains(files, filepath.Join(folder, "kustomization.yaml")) { // otherwise the folder patches another project's manifests
				all[folder] = append(all[folder], parse(t, readFile(t, deployPath(file)))...)
			}
		}
	}
	return all
}

// otherNamespace is the namespace of the chart's releases. It is not the namespace in the manifests.
const otherNamespace = "elsewhere"

// namesIn returns the names of the folders in a folder of deploy.
func namesIn(t *testing.T, folder string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(deployPath(folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

// matches returns the paths below deploy that match a pattern.
func matches(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(deployPath(pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing matches deploy/%s: %v", pattern, err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], deployPath()+"/")
	}
	return found
}

// withExtended returns a component, after the component that it extends. For example, gitopsclusters-agent
// extends gitopsclusters.
func withExtended(component string, of []string) []string {
	if extended, _, found := strings.Cut(component, "-"); found && slices.Contains(of, extended) {
		return []string{extended, component}
	}
	return []string{component}
}

// chartBases returns no values, for the chart's defaults, and each file of values in the chart.
func chartBases(t *testing.T) [][]string {
	t.Helper()
	bases := [][]string{{}}
	for _, file := range matches(t, "chart/values-*.yaml") {
		bases = append(bases, []string{filepath.Base(file)})
	}
	return bases
}

// switches returns, for each boolean of the chart's values, the values that invert it and enable its section.
func switches(t *testing.T) (found [][]string) {
	t.Helper()
	for section, values := range parse(t, readFile(t, deployPath("chart", "values.yaml")))[0].Object {
		values, _ := values.(map[string]any)
		for name, value := range values {
			before, ok := value.(bool)
			if !ok {
				continue
			}
			set := []string{fmt.Sprintf("%s.%s=%t", section, name, !before)}
			if enabled, ok := values["enabled"].(bool); ok && !enabled && name != "enabled" {
				set = append(set, section+".enabled=true")
			}
			found = append(found, set)
		}
	}
	if len(found) < 10 {
		t.Fatalf("%d switches: the search is broken", len(found))
	}
	return found
}
