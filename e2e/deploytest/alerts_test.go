// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// window is the range of an alert's query.
var window = regexp.MustCompile(`\[\d+[mh]\]`)

// impatientRules writes the alerts with shorter times: their delay, the range of their queries, and the
// accepted age of a search result.
func impatientRules(t *testing.T, file string) {
	t.Helper()
	spec := ruleSpec(t)
	for _, group := range spec["groups"].([]any) {
		for _, each := range group.(map[string]any)["rules"].([]any) {
			r := each.(map[string]any)
			expr := window.ReplaceAllString(r["expr"].(string), "[20s]")
			if r["alert"] == "MulticlusterIntegrationsSearchStale" {
				expr = strings.Replace(expr, "> 300", "> 25", 1) // a poll begins every 10 s
			}
			r["for"], r["expr"] = "1s", expr
		}
	}
	content, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// needAlerts waits until all alerts fire, or until none of them does.
func needAlerts(t *testing.T, address string, firing bool, alerts ...string) {
	t.Helper()
	for _, alert := range alerts {
		eventually(t, fmt.Sprintf("alert %s to be firing: %t", alert, firing), func() (bool, string) {
			n, saw := query(address, `ALERTS{alertstate="firing",alertname="MulticlusterIntegrations`+alert+`"}`)
			return (n > 0) == firing, saw
		})
	}
}

// checkAlerts causes the states for several alerts, and ends the states. A real Prometheus that scrapes the
// real binaries must report the alerts as firing and then as resolved.
func checkAlerts(t *testing.T, address string, all []running) {
	w := world{t}
	alerts := []string{"ApplicationsRefused", "ReportForeign", "IntermediateUnreadable", "ClustersAway", "WithdrawalsHeld"}
	file := filepath.Join(all[0].reports, "argocd_guestbook.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.available("cluster2", "False")
	needAlerts(t, address, true, alerts...)

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.available("cluster2", "True")
	kubectl(t, "annotate", "namespace", "argocd", contract.DeletionBudgetAnnotation+"=approve until "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	kubectl(t, "-n", "argocd", "delete", "multiclusterapplicationsetreport", "taken")
	kubectl(t, "-n", "argocd", "delete", "application.argoproj.io", "refused", "--wait", "--timeout=60s")
	needAlerts(t, address, false, alerts...)
}
