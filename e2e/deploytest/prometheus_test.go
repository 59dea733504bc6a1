// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// reader is the ServiceAccount of the Prometheus in the tests.
const reader = "prometheus-k8s"

// quiet are the parts of queries that correctly return no data here, and why.
var quiet = map[string]string{
	`code=~"429|5.."`: "the API server refuses nothing",
	`gitopscluster_`:  "gitopscluster is not installed",
	`up{service="multicluster-integrations-gitopscluster-metrics"}`: "the same",
	`up{service="multicluster-integrations-placement-metrics"}`:     "placement is not installed",
	`reason=~"Deleting|WaitingForWithdrawal|OrphanPending"`:         "nothing is being deleted yet",
}

// checkPrometheus runs every query of the dashboard and of the alerts on a Prometheus that scrapes the
// running binaries. Some alerts must fire and resolve.
func checkPrometheus(t *testing.T, address string, all []running) {
	for _, r := range all {
		eventually(t, "Prometheus to scrape "+r.name, func() (bool, string) {
			n, saw := query(address, fmt.Sprintf(`count_over_time(multicluster_integrations_build_info{component=%q}[1m]) > 3`, r.name))
			return n > 0, saw
		})
	}
	ask := func(where, expr string) {
		if excused(expr) {
			return
		}
		eventually(t, where+": data for "+expr, func() (bool, string) {
			n, saw := query(address, expr)
			return n > 0, saw
		})
	}
	for _, p := range panels(t) {
		for _, target := range p.Targets {
			ask("panel "+p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	for _, r := range rules(t) {
		ask("alert "+r.Alert, withoutThreshold(r.Expr))
	}
	families, token := map[string]*family{}, readerToken(t)
	for _, r := range all {
		text, stderr, err := scrape(t, r, token)
		if err != nil {
			t.Fatalf("scrape %s: %v %s", r.name, err, stderr)
		}
		record(families, text)
	}
	checkSeries(t, families)
	checkKinds(t, families)
	checkAlerts(t, address, all)
}

// readerToken returns a new token of an account that may read metrics.
func readerToken(t *testing.T) string {
	t.Helper()
	needNamespace(t, "monitoring")
	applyText(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+reader+", namespace: monitoring}}")
	kubectl(t, "apply", "--server-side", "-f", deployPath("monitoring", "base", "reader.yaml"))
	token, _ := kubectl(t, "-n", "monitoring", "create", "token", reader)
	return token
}

// scrape reads the metrics of a running binary.
func scrape(t *testing.T, r running, token string) (text, stderr string, err error) {
	t.Helper()
	return try(t, tool("kubectl"), "--kubeconfig", os.DevNull, "--server", "https://"+r.metrics, "--insecure-skip-tls-verify",
		"--token", token, "get", "--raw", "/metrics")
}

var comparison = regexp.MustCompile(`\s(==|>|<)\s+[0-9.]+`)

// withoutThreshold returns the expression of an alert without its comparison.
func withoutThreshold(expr string) string { return comparison.ReplaceAllString(expr, "") }

func excused(expr string) bool {
	for part := range quiet {
		if strings.Contains(expr, part) {
			return true
		}
	}
	return false
}

// startPrometheus starts a real Prometheus, with the permissions of deploy/monitoring and over TLS. It reads
// its token from tokenFile at every scrape.
func startPrometheus(t *testing.T, all []running) (address, tokenFile string) {
	t.Helper()
	token, dir := readerToken(t), t.TempDir()
	endpoints := map[any]any{} // the Service has the names of the containers' ports
	for _, c := range containers(t, find(t, kustomize(t, "ocm"), "Deployment")) {
		ports, _, _ := unstructured.NestedSlice(c, "ports")
		endpoints[c["name"]] = ports[0].(map[string]any)["name"]
	}
	var targets strings.Builder
	for _, r := range all {
		fmt.Fprintf(&targets, "      - {targets: [%q], labels: {service: %s-metrics, endpoint: %s}}\n", r.metrics, namespace, endpoints[r.name])
	}
	// Like deploy/monitoring, it does not verify the self-signed certificates.
	impatientRules(t, filepath.Join(dir, "rules.yaml"))
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: multicluster-integrations
    scheme: https
    honor_labels: true
    authorization: {credentials_file: %s}
    tls_config: {insecure_skip_verify: true}
    static_configs:
%s`, filepath.Join(dir, "token"), targets.String())
	for name, text := range map[string]string{"prometheus.yml": config, "token": token} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address = freeAddress(t)
	server := testkit.Command(t.Context(), tool("prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	server.Stdout, server.Stderr = io.Discard, io.Discard
	if err := server.Start(); err != nil {
		t.Fatalf("start prometheus: %v", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	eventually(t, "Prometheus to be ready", func() (bool, string) { return get("http://" + address + "/-/ready") })
	return address, filepath.Join(dir, "token")
}

// query returns the number of series of an expression.
func query(address, expr string) (n int, saw string) {
	ok, saw := get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(expr))
	if !ok {
		return 0, saw
	}
	_, body, _ := strings.Cut(saw, ": ")
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return 0, err.Error()
	}
	return len(answer.Data.Result), saw
}
