// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// foreign are the metrics that controller-runtime, client-go and Prometheus's own
// client library export in every binary.
var foreign = map[string]bool{
	"controller_runtime_reconcile_total":        true,
	"controller_runtime_reconcile_errors_total": true,
	"leader_election_master_status":             true,
	"process_cpu_seconds_total":                 true,
	"process_resident_memory_bytes":             true,
	"rest_client_requests_total":                true,
	"workqueue_depth":                           true,
}

// outside are the metrics of Prometheus itself and of kube-state-metrics.
var outside = map[string]bool{
	"kube_deployment_status_replicas_available": true,
	"up": true,
}

// registeredMetrics returns the names in every prometheus.…Opts literal of the code.
func registeredMetrics(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, module := range append(slices.Clone(binaries), "optional", "shared") {
		err := filepath.WalkDir(filepath.Join(testkit.Root(), module), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if name, ok := metricName(t, path, n); ok {
					names[name] = true
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) == 0 {
		t.Fatal("no metric found in the code")
	}
	return names
}

// metricName returns the name in a prometheus.…Opts literal. A name that is computed at run time fails the
// test, because no reader could search for it.
func metricName(t *testing.T, path string, n ast.Node) (string, bool) {
	t.Helper()
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	kind, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(kind.Sel.Name, "Opts") {
		return "", false
	}
	if pkg, ok := kind.X.(*ast.Ident); !ok || pkg.Name != "prometheus" {
		return "", false
	}
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := field.Key.(*ast.Ident); !ok || key.Name != "Name" {
			continue
		}
		value, ok := field.Value.(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: a metric's name is not written out", path)
			return "", false
		}
		name, err := strconv.Unquote(value.Value)
		return name, err == nil
	}
	t.Errorf("%s: a metric has no name", path)
	return "", false
}

var (
	selectors = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|"[^"]*"`)
	groupings = regexp.MustCompile(`\b(by|without|on|ignoring)\s*\([^)]*\)`)
	words     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
)

// metricNames returns the metrics in a PromQL expression: all words that are no function, label or keyword.
func metricNames(expr string) []string {
	expr = groupings.ReplaceAllString(selectors.ReplaceAllString(expr, " "), " ")
	var names []string
	for _, word := range words.FindAllString(expr, -1) {
		word = strings.TrimSpace(word)
		if !strings.HasSuffix(word, "(") && !slices.Contains([]string{"sum", "and", "or", "unless", "bool", "topk", "max", "min", "count"}, word) {
			names = append(names, word)
		}
	}
	return names
}

func TestMetricNames(t *testing.T) {
	cases := map[string]string{
		`sum by (a, b) (rate(x_total{c=~"d|e"}[5m])) / sum(y) > 0.1`:               "x_total y",
		`histogram_quantile(0.99, sum by (le) (rate(z_bucket[$__rate_interval])))`: "z_bucket",
		`time() - max(t_seconds > 0) > 300 and deriv(q{s="u v"}[15m]) > 0`:         "t_seconds q",
	}
	for expr, want := range cases {
		if got := strings.Join(metricNames(expr), " "); got != want {
			t.Errorf("metrics in %s: %s, want %s", expr, got, want)
		}
	}
}
