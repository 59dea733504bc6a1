// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

func unreachable(o *Observation, cluster Cluster) string {
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
	b.WriteString(lastWords(o))
	return b.String()
}

// lastWords says when the cluster was last heard and what it said then.
func lastWords(o *Observation) string {
	if !o.Reported {
		return "; nothing was heard about this Application before"
	}
	var b strings.Builder
	b.WriteString("; last heard")
	if !o.LastHeard.IsZero() {
		b.WriteString(" " + stamp(o.LastHeard))
	}
	b.WriteString(": health " + o.Health + ", sync " + o.Sync)
	if o.Revision != "" {
		b.WriteString(" at " + o.Revision)
	}
	if o.Operation.Phase != "" {
		b.WriteString(", operation " + o.Operation.Phase)
	}
	return b.String()
}

// applyFailures gives the agent's reason, of every manifest that it could not apply.
func applyFailures(work *workv1.ManifestWork, applied *metav1.Condition) string {
	var causes []string
	for i := range work.Status.ResourceStatus.Manifests {
		m := &work.Status.ResourceStatus.Manifests[i]
		if c := meta.FindStatusCondition(m.Conditions, workv1.ManifestApplied); c != nil && c.Status == metav1.ConditionFalse {
			causes = append(causes, strings.TrimPrefix(m.ResourceMeta.Kind+" "+m.ResourceMeta.Name, " ")+": "+c.Message)
		}
	}
	if len(causes) == 0 {
		causes = append(causes, applied.Message)
	}
	return strings.Join(causes, "; ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
