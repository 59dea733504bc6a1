// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// memoryOf returns a container's memory limit and its GOMEMLIMIT in bytes, or zero if it has none.
func memoryOf(t *testing.T, container map[string]any) (limit, soft int64) {
	t.Helper()
	if text, found, _ := unstructured.NestedFieldNoCopy(container, "resources", "limits", "memory"); found {
		q, err := resource.ParseQuantity(fmt.Sprint(text))
		if err != nil {
			t.Fatal(err)
		}
		limit = q.Value()
	}
	env, _, _ := unstructured.NestedSlice(container, "env")
	for _, each := range env {
		if v := each.(map[string]any); v["name"] == "GOMEMLIMIT" {
			number, ok := strings.CutSuffix(v["value"].(string), "MiB")
			mebi, err := strconv.ParseInt(number, 10, 64)
			if !ok || err != nil {
				t.Fatalf("GOMEMLIMIT %v: want a number of MiB", v["value"])
			}
			soft = mebi << 20
		}
	}
	return limit, soft
}

var budgetRow = regexp.MustCompile(`(?m)^\| memory: (\w+) \| ≤ (\d+) MiB \|`)

// GOMEMLIMIT is below the memory limit, so Go collects more often before the kernel kills the container. It
// is also well above the memory that docs/benchmarks.md promises.
func TestMemoryLimits_leaveRoom(t *testing.T) {
	budget := map[string]int64{}
	for _, m := range budgetRow.FindAllStringSubmatch(readFile(t, filepath.Join(testkit.Root(), "docs", "benchmarks.md")), -1) {
		mebi, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		budget[m[1]] = mebi << 20
	}
	for _, v := range variants {
		for _, c := range containers(t, find(t, kustomize(t, v.overlay), "Deployment")) {
			name := c["name"].(string)
			limit, soft := memoryOf(t, c)
			if soft == 0 || soft > limit*92/100 || soft < limit*85/100 {
				t.Errorf("%s: GOMEMLIMIT of %s is %d of %d bytes, want about nine tenths", v.overlay, name, soft, limit)
			}
			if budget[name] == 0 || soft < budget[name]*5/4 {
				t.Errorf("%s: GOMEMLIMIT of %s is %d bytes, the budget in docs/benchmarks.md %d: want a quarter more at least", v.overlay, name, soft, budget[name])
			}
		}
	}
}

// The chart computes the GOMEMLIMIT that the base contains.
func TestChart_computesTheMemoryLimit(t *testing.T) {
	cases := []struct {
		limit, want, reason string
	}{
		{"256Mi", "230MiB", "the default of propagation"},
		{"1Gi", "921MiB", "another unit"},
		{"1.5Gi", "1382MiB", "a fraction"},
		{"500M", "429MiB", "powers of ten"},
		{"524288Ki", "460MiB", "a small unit"},
		{"268435456", "230MiB", "plain bytes"},
	}
	for _, c := range cases {
		t.Run(c.limit, func(t *testing.T) {
			deployment := find(t, chart(t, "propagation.resources.limits.memory="+c.limit), "Deployment")
			env, _, _ := unstructured.NestedSlice(containers(t, deployment)[0], "env")
			if len(env) != 1 || env[0].(map[string]any)["value"] != c.want {
				t.Errorf("%s: %v, want %s", c.reason, env, c.want)
			}
		})
	}
	if _, found := containers(t, find(t, chart(t, "propagation.resources.limits=null"), "Deployment"))[0]["env"]; found {
		t.Error("GOMEMLIMIT is set though there is no limit")
	}
}
