// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

var teams = []string{"checkout", "payments", "search", "identity", "storefront", "telemetry", "delivery", "pricing"}

var services = []string{"api", "worker", "frontend", "gateway", "cache", "ingest", "scheduler", "exporter", "batch", "proxy"}

var regions = []string{"eu-west", "eu-north", "us-east", "us-west", "ap-south"}

// errors of Argo CD as they come, with what differs between Applications.
var errors = []struct{ kind, message string }{
	{"SyncError", "Failed sync attempt to REVISION: one or more objects failed to apply, reason: deployments.apps \"APP\" is forbidden: exceeded quota: compute, requested: limits.cpu=4, used: limits.cpu=30, limited: limits.cpu=32 (retried 5 times)."},
	{"ComparisonError", "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = authentication required: Repository not found: https://git.example.com/APP.git"},
	{"SyncError", "Failed sync attempt to REVISION: one or more synchronization tasks are not valid due to application controller sync timeout on CLUSTER (retried 2 times)."},
	{"OperationError", "Get \"https://10.96.0.1:443/apis/apps/v1\": x509: certificate has expired or is not yet valid: current time is after 2026-11-21T23:59:59Z"},
	{"ApplyFailed", "Application APP: Apply failed with 1 conflict: conflict with \"kubectl-edit\" using argoproj.io/v1alpha1: .spec.source.targetRevision"},
}

// Large fills a fleet with ApplicationSets, each with an Application on every cluster,
// most of them well. The same numbers make the same fleet.
func Large(f *Fleet, sets, clusters int, now time.Time) {
	dice := rand.New(rand.NewPCG(18, 2026)) //nolint:gosec // a fleet to look at, no secret
	names := make([]string, clusters)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%02d", regions[i%len(regions)], i/len(regions)+1)
	}
	lost := names[clusters/2]
	for n := range sets {
		team := teams[n%len(teams)]
		name := fmt.Sprintf("%s-%s", team, services[n/len(teams)%len(services)])
		if n >= len(teams)*len(services) {
			name += fmt.Sprintf("-%d", n/(len(teams)*len(services))+1)
		}
		set := types.NamespacedName{Namespace: "team-" + team, Name: name}
		rows := make([]*merge.Row, 0, clusters)
		for _, cluster := range names {
			rows = append(rows, row(dice, set, cluster, cluster == lost, n, now))
		}
		f.Fill(set, rows)
	}
	f.SetCluster(status.Cluster{Name: lost, Exists: true, Since: now.Add(-47 * time.Minute), Message: "Registration agent stopped updating its lease"})
	f.SetResources(
		v1alpha1.ResourceRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "app", Name: "app"},
		v1alpha1.ResourceRef{APIVersion: "v1", Kind: "Service", Namespace: "app", Name: "app"},
		v1alpha1.ResourceRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "app", Name: "settings"})
	hubApplications(f, names, now)
}

func row(dice *rand.Rand, set types.NamespacedName, cluster string, lost bool, n int, now time.Time) *merge.Row {
	app := merge.App{
		HubNamespace: set.Namespace, HubName: set.Name + "-" + cluster, Cluster: cluster, Work: set.Name + "-" + cluster + "-4f1c9", Reported: true,
		Health: "Healthy", Sync: "Synced", Revision: revision(set.Name), OperationPhase: "Succeeded",
		OperationStartedAt: now.Add(-time.Duration(dice.IntN(90*60)) * time.Second).UTC().Format(time.RFC3339),
	}
	broken := func(kind int) {
		e := errors[kind]
		message := strings.NewReplacer("APP", app.HubName, "CLUSTER", cluster, "REVISION", app.Revision).Replace(e.message)
		app.Conditions = append(app.Conditions, v1alpha1.Condition{Type: e.kind, Message: message})
	}
	switch p := dice.IntN(1000); {
	case lost:
		app.Health, app.Sync = "Unknown", "Unknown"
		app.Conditions = []v1alpha1.Condition{{Type: string(status.ClusterUnreachable), Message: "cluster " + cluster + " is not available since " + now.Add(-47*time.Minute).UTC().Format(time.RFC3339) + " (Registration agent stopped updating its lease); last report: health Healthy, sync Synced"}}
	case n%97 == 3 && p < 600: // a set that is going wrong
		app.Health, app.Sync, app.OperationPhase = "Degraded", "OutOfSync", "Failed"
		broken(0)
	case n%61 == 7 && p < 450:
		app.Sync = "Unknown"
		app.Health = "Unknown"
		broken(1)
	case n%23 == 5 && p < 500: // a rollout
		app.Health, app.Sync, app.OperationPhase = "Progressing", "Synced", "Running"
		app.Revision = revision(set.Name + " next")
	case p < 4:
		app.Health, app.Sync, app.OperationPhase = "Missing", "OutOfSync", "Error"
		broken(3)
	case p < 7:
		app.Health, app.OperationPhase = "Degraded", "Failed"
		broken(2)
	case p < 12:
		app.Sync = "OutOfSync"
	case p < 14:
		app.Health = "Suspended"
	case p < 16:
		app.Health = "Degraded"
		broken(4)
	}
	return merge.NewRow(app, merge.Search{})
}

// revision returns what could be a commit.
func revision(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:20])
}

func hubApplications(f *Fleet, clusters []string, now time.Time) {
	add := func(state hubapps.State, set, cluster, message string, age time.Duration) {
		f.AddApplication(hubapps.Application{
			Namespace: "team-checkout", Name: set + "-" + cluster, Set: set, Cluster: cluster, State: state, Message: message, Since: now.Add(-age),
		})
	}
	for _, c := range clusters[:min(3, len(clusters))] {
		add(hubapps.Refused, "checkout-audit", c, "no PlacementDecision in namespace team-checkout selects cluster "+c+": bind a cluster set to the namespace and add a Placement", 3*time.Hour)
	}
	add(hubapps.Held, "checkout-legacy", clusters[0], contract.WithdrawalHeld+": 18 of 20 deliveries of ApplicationSet team-checkout/checkout-legacy would be withdrawn within 10m and the limit is 10; to go ahead, annotate the ApplicationSet", 12*time.Minute)
	add(hubapps.Paused, "checkout-cache", clusters[len(clusters)-1], "paused by ManagedCluster "+clusters[len(clusters)-1]+" until 2026-11-23T06:00:00Z: 2 changes wait", 26*time.Hour)
	f.AddApplication(hubapps.Application{
		Namespace: "team-pricing", Name: "pricing-edge", Cluster: clusters[0], State: hubapps.Rendered, Health: "Healthy", Sync: "Synced",
	})
}
