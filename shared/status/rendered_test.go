// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestRendered(t *testing.T) {
	well := contract.Feedback{
		Health: "Healthy", Sync: "Synced", Revision: "53e28ff2",
		Operation: contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2026-11-20T10:00:00Z"},
	}
	refused := contract.Feedback{Health: "Degraded", Sync: "Unknown", Conditions: []contract.Condition{{Type: "ComparisonError", Message: "m"}}}
	half := well
	half.Operation.StartedAt = ""
	cases := map[string]struct {
		reason  string
		said    contract.Feedback
		cluster Cluster
		want    Observation
	}{
		"well":    {"as it is said", well, up, Observation{Health: "Healthy", Sync: "Synced", Revision: "53e28ff2", Operation: well.Operation, Reported: true}},
		"refused": {"what cannot be compared with git runs on, and is looked at", refused, up, Observation{Health: "Degraded", Sync: "Unknown", Conditions: refused.Conditions, Reported: true}},
		"new":     {"nothing is said", contract.Feedback{}, up, Observation{Health: "Unknown", Sync: "Unknown"}},
		"half":    {"half an operation is none yet", half, up, Observation{Health: "Healthy", Sync: "Synced", Revision: "53e28ff2", Reported: true}},
		"away": {"its health is not known; what the hub has written is", well, ClusterOf("c1", hostileCluster("m")), Observation{
			Health: "Unknown", HealthMessage: "last known health: Healthy", Sync: "Synced", Revision: "53e28ff2", Operation: well.Operation, Reported: true,
			Reason: ClusterUnreachable, Message: "cluster c1 is not available since " + stamp(lost) + " (m)",
		}},
		"gone": {"nor is that of a cluster that is gone", contract.Feedback{}, Cluster{Name: "c1"}, Observation{
			Health: "Unknown", Sync: "Unknown", Reason: ClusterUnreachable, Message: "cluster c1 does not exist on the hub",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.want.Work = "uid"
			if diff := cmp.Diff(c.want, Rendered("uid", c.said, c.cluster)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
