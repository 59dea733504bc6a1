// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var config *rest.Config

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) error {
		ctrl.SetLogger(logr.Discard())
		config = c
		return nil
	})
}

// logged returns the log output of Report.
func logged(t *testing.T) string {
	t.Helper()
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	if err := Report(config, log)(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// RHACM's CustomResourceDefinition has fewer fields. Aggregation logs the missing fields at each start.
func TestReport_namesFieldsThatTheHubDrops(t *testing.T) {
	testkit.Eventually(t, "the definition to be served", func() error {
		lacking, err := missing(config)
		if err == nil && len(lacking) > 0 {
			t.Fatalf("of our own definition is missing: %v", lacking)
		}
		return err
	})
	if got := logged(t); got != "" {
		t.Errorf("with our own definition it logs %s", got)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	crd.SetName("multiclusterapplicationsetreports.apps.open-cluster-management.io")
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	rows := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	for _, step := range []string{"schema", "openAPIV3Schema", "properties", "statuses", "properties", "clusterConditions", "items"} {
		next, ok := rows[step].(map[string]any)
		if !ok {
			t.Fatalf("no %s in %v", step, rows)
		}
		rows = next
	}
	narrow := map[string]any{"conditions": map[string]any{"type": "array", "items": map[string]any{
		"type": "object", "properties": map[string]any{"type": map[string]any{"type": "string"}, "message": map[string]any{"type": "string"}},
	}}}
	for _, field := range []string{"cluster", "healthStatus", "syncStatus", "operationStateStartedAt", "operationStatePhase", "syncRevision", "app"} {
		narrow[field] = map[string]any{"type": "string"}
	}
	delete(rows, "x-kubernetes-preserve-unknown-fields")
	rows["properties"] = narrow
	if err := c.Update(context.Background(), crd); err != nil {
		t.Fatal(err)
	}
	want := []string{"statuses.clusterConditions.staleSince", "statuses.clusterConditions.syncRevisions"}
	testkit.Eventually(t, "the narrower definition to be served", func() error {
		lacking, err := missing(config)
		if err == nil && !slices.Equal(lacking, want) {
			err = fmt.Errorf("missing: %v", lacking)
		}
		return err
	})
	if got := logged(t); !strings.Contains(got, strings.Join(want, " ")) || !strings.Contains(got, "docs/report.md") {
		t.Errorf("it logs %s", got)
	}
}
