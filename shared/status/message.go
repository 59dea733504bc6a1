// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func unreachable(o *Observation, cluster Cluster) string {
	return unreachableCause(cluster) + lastReport(o)
}

// unreachableCause describes why a cluster does not report.
func unreachableCause(cluster Cluster) string {
	var b strings.Builder
	b.WriteString("cluster " + cluster.Name)
	if cluster.Exists {
		b.WriteString(" is not available")
		if !cluster.Since.IsZero() {
			b.WriteString(" since " + stamp(cluster.Since))
		}
		if cluster.Message != "" {
			b.WriteString(" (" + strings.TrimRight(cluster.Message, ". \n") + ")")
		}
	} else {
		b.WriteString(" does not exist on the hub")
	}
	return b.String()
}

// LastReport begins the part of a message about the cluster's last report.
const LastReport = "; last report"

// NeverReported replaces that part if the cluster has never reported.
const NeverReported = "; it has never reported this Application"

// lastReport describes the cluster's last report and its time.
func lastReport(o *Observation) string {
	if !o.Reported {
		return NeverReported
	}
	var b strings.Builder
	b.WriteString(LastReport)
	if !o.ReportedAt.IsZero() {
		b.WriteString(" " + stamp(o.ReportedAt))
	}
	b.WriteString(": health " + o.Health + ", sync " + o.Sync)
	if at := cmp.Or(o.Revision, strings.Join(o.Revisions, ", ")); at != "" {
		b.WriteString(" at " + at)
	}
	if o.Operation.Phase != "" {
		b.WriteString(", operation " + o.Operation.Phase)
	}
	return b.String()
}

// applyFailures lists the agent's messages about the first manifests that it could not apply.
func applyFailures(work *workv1.ManifestWork, applied *metav1.Condition) string {
	var causes []string
	var ignored contract.Rejected
	manifests := contract.Clip(work.Status.ResourceStatus.Manifests, contract.MaxManifests, &ignored)
	for i := range manifests {
		r := &manifests[i].ResourceMeta
		if c := applyFailure(&manifests[i]); c != nil && len(causes) < contract.MaxFailures {
			what := strings.TrimPrefix(contract.Name(r.Kind, &ignored)+" "+contract.Name(r.Name, &ignored), " ")
			causes = append(causes, what+": "+contract.Message(c.Message, &ignored))
		}
	}
	if len(causes) == 0 {
		causes = append(causes, applied.Message)
	}
	return contract.Message(strings.Join(causes, "; "), &ignored)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
