// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Each case edits a work into one of the worst reports of a cluster. The result is short, and the same
// whether or not the report was trimmed.
func TestWork_boundsHostileReports(t *testing.T) {
	long := strings.Repeat("x\x1by\u202e", 200<<10)
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: long, Message: long, ObservedGeneration: 3}
	}
	var everything []string
	for _, p := range append(contract.FeedbackPaths(contract.MaxSources), contract.RequestPaths()...) {
		everything = append(everything, p.Name, long)
	}
	cases := map[string]struct {
		reason       string
		edit         func(*workv1.ManifestWork)
		health, sync string
		is           Reason
	}{
		"health":     {reason: "a long message costs no other value", edit: feedback("healthStatus", "Degraded", "healthMessage", long, "syncStatus", "Synced"), health: "Degraded", sync: "Synced"},
		"sync":       {reason: "an unknown sync status is Unknown, and so is health", edit: feedback("healthStatus", "Healthy", "syncStatus", long), health: "Unknown", sync: "Unknown"},
		"everything": {reason: "each value at its longest", edit: feedback(everything...), health: "Unknown", sync: "Unknown"},
		"unreadable": {reason: "the agent's words", edit: func(w *workv1.ManifestWork) {
			w.Status.ResourceStatus.Manifests[1].Conditions[1] = condition(workv1.ManifestAvailable, "False")
		}, health: "Unknown", sync: "Unknown", is: ApplicationUnreadable},
		"applyFailed": {reason: "the agent's words", edit: applied("False", 3, long), health: "Unknown", sync: "OutOfSync", is: ApplyFailed},
		"manifests": {reason: "ten thousand manifests that failed", edit: func(w *workv1.ManifestWork) {
			applied("False", 3, "m")(w)
			for i := range 10_000 {
				w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
					ResourceMeta: workv1.ManifestResourceMeta{Kind: long, Name: fmt.Sprint("n", i), Namespace: long},
					Conditions:   []metav1.Condition{condition(workv1.ManifestApplied, "False")},
				})
			}
		}, health: "Unknown", sync: "OutOfSync", is: ApplyFailed},
		"applications": {reason: "a thousand Applications, of which a work has one", edit: func(w *workv1.ManifestWork) {
			feedback(everything...)(w)
			m := &w.Status.ResourceStatus.Manifests
			for range 1000 {
				*m = append(*m, *(*m)[1].DeepCopy())
			}
		}, health: "Unknown", sync: "Unknown"},
		"conditions": {reason: "ten thousand conditions", edit: func(w *workv1.ManifestWork) {
			for i := range 10_000 {
				w.Status.Conditions = append(w.Status.Conditions, condition(fmt.Sprint("t", i), "True"))
				w.Status.ResourceStatus.Manifests[1].Conditions = append(w.Status.ResourceStatus.Manifests[1].Conditions, condition(workv1.ManifestApplied, "True"))
			}
		}, health: "Healthy", sync: "Synced"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := work(c.edit)
			for _, cluster := range []Cluster{up, ClusterOf("c1", hostileCluster(long))} {
				said := Work(w, cluster)
				if cluster.Available && (said.Health != c.health || said.Sync != c.sync || said.Reason != c.is) {
					t.Errorf("%s: it is %s, %s, %q", c.reason, said.Health, said.Sync, said.Reason)
				}
				raw, err := json.Marshal(said)
				if err != nil || len(raw) > 16<<10 {
					t.Errorf("%s: %d bytes are said, %v", c.reason, len(raw), err)
				}
				trimmed := w.DeepCopy()
				Trim(&trimmed.Status)
				if diff := cmp.Diff(said, Work(trimmed, cluster)); diff != "" {
					t.Errorf("a trimmed work says something else (-want +got):\n%.500s", diff)
				}
				if raw, err = json.Marshal(trimmed.Status); err != nil || len(raw) > 20<<10 {
					t.Errorf("%s: %d bytes are left of the status, %v", c.reason, len(raw), err)
				}
				if rejected := Trim(&trimmed.Status); rejected != (contract.Rejected{}) {
					t.Errorf("a trimmed status is trimmed again: %+v", rejected)
				}
			}
		})
	}
}

func hostileCluster(long string) *clusterv1.ManagedCluster {
	c := &clusterv1.ManagedCluster{}
	c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "n", Value: long}}
	c.Status.Conditions = []metav1.Condition{
		{Type: "Other", Message: long},
		{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(lost), Message: long},
	}
	return c
}

// The texts of a ManagedCluster have the same limit in the cache as in a message.
func TestTrimCluster(t *testing.T) {
	c := hostileCluster(strings.Repeat("x", 1<<20))
	want := ClusterOf("c1", c)
	rejected := TrimCluster(&c.Status)
	if diff := cmp.Diff(want, ClusterOf("c1", c)); diff != "" {
		t.Errorf("a trimmed cluster says something else (-want +got):\n%.500s", diff)
	}
	if len(want.Message) != contract.MaxMessage || len(c.Status.Conditions) != 1 || c.Status.ClusterClaims != nil || rejected != (contract.Rejected{TooLong: 1}) {
		t.Errorf("%d bytes of message, %d conditions, %+v", len(want.Message), len(c.Status.Conditions), rejected)
	}
}

// Only the first reported Application of a work counts.
func TestWork_readsOnlyTheFirstApplication(t *testing.T) {
	w := work(func(w *workv1.ManifestWork) {
		m := &w.Status.ResourceStatus.Manifests
		other := (*m)[1].DeepCopy()
		other.ResourceMeta.Name = "other"
		*m = append([]workv1.ManifestCondition{*other}, *m...)
	})
	for range 2 {
		if o := Work(w, up); o.Reported || o.Health != argocd.HealthUnknown {
			t.Errorf("said %+v", o)
		}
		Trim(&w.Status)
	}
}
