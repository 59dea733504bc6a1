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

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

var teams = []string{"checkout", "payments", "search", "identity", "storefront", "telemetry", "delivery", "pricing"}

var services = []string{"api", "worker", "frontend", "gateway", "cache", "ingest", "scheduler", "exporter", "batch", "proxy"}

var regions = []string{"eu-west", "eu-north", "us-east", "us-west", "ap-south"}

// errors are typical errors of Argo CD, with parts that differ between Applications.
var errors = []struct{ kind, message string }{
	{"SyncError", "Failed sync attempt to REVISION: one or more objects failed to apply, reason: deployments.apps \"APP\" is forbidden: exceeded quota: compute, requested: limits.cpu=4, used: limits.cpu=30, limited: limits.cpu=32 (retried 5 times)."},
	{"ComparisonError", "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = authentication required: Repository not found: https://git.example.com/APP.git"},
	{"SyncError", "Failed sync attempt to REVISION: one or more synchronization tasks are not valid due to application controller sync timeout on CLUSTER (retried 2 times)."},
	{"OperationError", "Get \"https://10.96.0.1:443/apis/apps/v1\": x509: certificate has expired or is not yet valid: current time is after 2026-11-21T23:59:59Z"},
	{"ApplyFailedError", "Application APP: Apply failed with 1 conflict: conflict with \"kubectl-edit\" using argoproj.io/v1alpha1: .spec.source.targetRevision"},
}

// Large returns a fleet of ApplicationSets, each with an Application on every cluster. Most of them
// are healthy. The same arguments return the same fleet.
func Large(sets, clusters int, now time.Time) *model.Fleet {
	f := model.NewFleet()
	f.Replace(Applications(sets, clusters, now))
	for i := range clusters {
		f.SetCluster(Available(cluster(i)))
	}
	f.SetCluster(model.Cluster{Cluster: status.Cluster{Name: cluster(clusters / 2), Exists: true, Since: now.Add(-47 * time.Minute), Message: "Registration agent stopped updating its lease"}})
	return f
}

func cluster(i int) string { return fmt.Sprintf("%s-%02d", regions[i%len(regions)], i/len(regions)+1) }

// Applications returns the Applications of such a fleet.
func Applications(sets, clusters int, now time.Time) (all []*model.App) {
	dice := rand.New(rand.NewPCG(18, 2026)) //nolint:gosec // random data for a test, no secret
	for n := range sets {
		team := teams[n%len(teams)]
		name := fmt.Sprintf("%s-%s", team, services[n/len(teams)%len(services)])
		if n >= len(teams)*len(services) {
			name += fmt.Sprintf("-%d", n/(len(teams)*len(services))+1)
		}
		set := types.NamespacedName{Namespace: "team-" + team, Name: name}
		for i := range clusters {
			all = append(all, application(dice, set, cluster(i), i == clusters/2, n, now))
		}
	}
	return append(all, undelivered(clusters, now)...)
}

func application(dice *rand.Rand, set types.NamespacedName, cluster string, lost bool, n int, now time.Time) *model.App {
	r := Row{
		Name: set.Name + "-" + cluster, Cluster: cluster, Health: "Healthy", Sync: "Synced", Revision: revision(set.Name), Phase: "Succeeded",
		Started: now.Add(-time.Duration(dice.IntN(90*60)) * time.Second),
	}
	broken := func(kind int) {
		e := errors[kind]
		message := strings.NewReplacer("APP", r.Name, "CLUSTER", cluster, "REVISION", r.Revision).Replace(e.message)
		r.Conditions = append(r.Conditions, v1alpha1.Condition{Type: e.kind, Message: message})
	}
	switch p := dice.IntN(1000); {
	case lost:
		r.Health, r.Sync = "Unknown", "Unknown"
		r.Conditions = []v1alpha1.Condition{{Type: model.Unreachable, Message: "cluster " + cluster + " is not available since " + now.Add(-47*time.Minute).UTC().Format(time.RFC3339) + " (Registration agent stopped updating its lease); last report: health Healthy, sync Synced"}}
	case n%97 == 3 && p < 600: // a set with errors
		r.Health, r.Sync, r.Phase = "Degraded", "OutOfSync", "Failed"
		broken(0)
	case n%61 == 7 && p < 450:
		r.Sync = "Unknown"
		r.Health = "Unknown"
		broken(1)
	case n%23 == 5 && p < 500: // a set with a new revision
		r.Health, r.Sync, r.Phase = "Progressing", "Synced", "Running"
		r.Revision = revision(set.Name + " next")
	case p < 4:
		r.Health, r.Sync, r.Phase = "Missing", "OutOfSync", "Error"
		broken(3)
	case p < 7:
		r.Health, r.Phase = "Degraded", "Failed"
		broken(2)
	case p < 12:
		r.Sync = "OutOfSync"
	case p < 14:
		r.Health = "Suspended"
	case p < 16:
		r.Health = "Degraded"
		broken(4)
	}
	return App(set, r)
}

// revision returns a text in the form of a commit.
func revision(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:20])
}

// undelivered returns Applications of every state.
func undelivered(clusters int, now time.Time) (all []*model.App) {
	add := func(state model.State, namespace, set, cluster, message string, age time.Duration) {
		all = append(all, Undelivered(model.AppFields{
			Namespace: namespace, Name: set + "-" + cluster, Set: set, Cluster: cluster, State: state, Message: message, Since: now.Add(-age),
		}))
	}
	for i := range min(3, clusters) {
		add(model.Refused, "team-checkout", "checkout-audit", cluster(i), "no PlacementDecision in namespace team-checkout selects cluster "+cluster(i)+": bind a cluster set to the namespace and add a Placement", 3*time.Hour)
	}
	add(model.Held, "team-checkout", "checkout-legacy", cluster(0), contract.WithdrawalHeld+": 18 of 20 deliveries of ApplicationSet team-checkout/checkout-legacy would be withdrawn within 10m and the limit is 10; to go ahead, annotate the ApplicationSet", 12*time.Minute)
	last := cluster(clusters - 1)
	add(model.Paused, "team-checkout", "checkout-cache", last, "paused by ManagedCluster "+last+" until 2026-11-23T06:00:00Z: 2 changes wait", 26*time.Hour)
	return append(all, Undelivered(model.AppFields{
		Namespace: "team-pricing", Name: "pricing-edge", Set: "pricing-edge", Cluster: cluster(0), State: model.Rendered, Health: "Healthy", Sync: "Synced",
	}))
}
