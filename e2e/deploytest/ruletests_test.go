// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// ruleTest is a test of deploy/monitoring/base/rules_test.yaml.
type ruleTest struct {
	Name        string
	InputSeries []struct{ Series, Values string } `json:"input_series"`
	Exprs       []struct {
		Expr       string
		EvalTime   string           `json:"eval_time"`
		ExpSamples []map[string]any `json:"exp_samples"`
	} `json:"promql_expr_test"`
}

func ruleTests(t *testing.T) []ruleTest {
	t.Helper()
	var file struct{ Tests []ruleTest }
	if err := yaml.Unmarshal([]byte(readFile(t, deployPath("monitoring", "base", "rules_test.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	return file.Tests
}

// firesAndResolves reports whether a test expects an alert to fire and later not to fire.
func firesAndResolves(t *testing.T, tests []ruleTest, alert string) bool {
	t.Helper()
	for _, test := range tests {
		fired := time.Duration(-1)
		for _, e := range test.Exprs {
			at, err := time.ParseDuration(e.EvalTime)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !strings.Contains(e.Expr, `alertname="`+alert+`"`):
			case len(e.ExpSamples) > 0:
				fired = at
			case fired >= 0 && at > fired:
				return true
			}
		}
	}
	return false
}

// family is a metric that the running binaries export.
type family struct {
	kind string
	// labels are the sets of label names of its series, sorted and joined by commas.
	labels map[string]bool
	// values are the observed values of each label.
	values map[string]map[string]bool
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	seriesText = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?(?:$| )`)
	labelText  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// labelsOf returns the labels in the braces of a series.
func labelsOf(braces string) map[string]string {
	labels := map[string]string{}
	for _, m := range labelText.FindAllStringSubmatch(braces, -1) {
		labels[m[1]] = m[2]
	}
	return labels
}

func names(labels map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(labels)), ",")
}

// record adds the result of a scrape.
func record(families map[string]*family, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := typeLine.FindStringSubmatch(line); m != nil && families[m[1]] == nil {
			families[m[1]] = &family{kind: m[2], labels: map[string]bool{}, values: map[string]map[string]bool{}}
		}
		m := seriesText.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f := families[m[1]]
		if base, ok := strings.CutSuffix(m[1], "_bucket"); ok && f == nil {
			f = families[base]
		}
		if f == nil {
			continue
		}
		labels := labelsOf(m[2])
		f.labels[names(labels)] = true
		for name, value := range labels {
			if f.values[name] == nil {
				f.values[name] = map[string]bool{}
			}
			f.values[name][value] = true
		}
	}
}

// closed are the labels with a fixed set of values. All these values exist from the start.
var closed = []string{"kind", "component", "result", "action", "le"}

// elsewhere are the metrics that no binary exports here, because gitopscluster is not installed. Package
// agents of gitopscluster tests their alerts.
var elsewhere = map[string]bool{"gitopscluster_certificate_renewal_deadline_timestamp_seconds": true}

// target are the labels that Prometheus adds.
var target = []string{"pod", "service"}

// checkSeries compares every series in the tests of the alerts with the metrics of the running binaries. A
// test with a series that no binary exports would prove nothing.
func checkSeries(t *testing.T, families map[string]*family) {
	t.Helper()
	seen := map[string]bool{}
	for _, test := range ruleTests(t) {
		for _, input := range test.InputSeries {
			if seen[input.Series] {
				continue
			}
			seen[input.Series] = true
			m := seriesText.FindStringSubmatch(input.Series)
			name := strings.TrimSuffix(m[1], "_bucket")
			f := families[name]
			if f == nil && (elsewhere[name] || outside[name]) {
				continue
			}
			if f == nil || (f.kind == "histogram") != (name != m[1]) {
				t.Errorf("%s: no binary gives %s", test.Name, input.Series)
				continue
			}
			labels := labelsOf(m[2])
			for _, added := range target {
				delete(labels, added)
			}
			if !f.labels[names(labels)] && !foreign[name] {
				t.Errorf("%s: %s has not the labels that the binaries give: %v", test.Name, input.Series, slices.Sorted(maps.Keys(f.labels)))
			}
			for label, value := range labels {
				if f.values[label] == nil || slices.Contains(closed, label) && !f.values[label][value] {
					t.Errorf("%s: %s: the binaries give %s only as %v", test.Name, input.Series, label, slices.Sorted(maps.Keys(f.values[label])))
				}
			}
		}
	}
}

var rated = regexp.MustCompile(`\b(?:rate|increase)\((\w+)`)

// checkKinds requires that alerts use rates of counters and values of gauges. An alert on the rate of a
// counter would resolve while a state lasts.
func checkKinds(t *testing.T, families map[string]*family) {
	t.Helper()
	for _, r := range rules(t) {
		var inRate []string
		for _, m := range rated.FindAllStringSubmatch(r.Expr, -1) {
			inRate = append(inRate, m[1])
		}
		for _, name := range metricNames(r.Expr) {
			f := families[strings.TrimSuffix(name, "_bucket")]
			if f == nil && (elsewhere[name] || outside[name]) {
				continue
			}
			if f == nil {
				t.Errorf("alert %s: no binary gives %s", r.Alert, name)
			} else if counts := f.kind != "gauge"; counts != slices.Contains(inRate, name) {
				t.Errorf("alert %s: %s is a %s", r.Alert, name, f.kind)
			}
		}
	}
}
