// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
)

func TestReady_reportsTheFirstProblem(t *testing.T) {
	refused := &Problem{ReasonBadField, "a field is wrong; correct it"}
	cases := map[string]struct {
		reason string
		facts  Facts
		status metav1.ConditionStatus
		want   string
	}{
		"ready":     {"nothing is in the way", Facts{}, metav1.ConditionTrue, ReasonAsExpected},
		"unused":    {"a field without effect is no failure", Facts{Intent: Intent{Unused: []string{"x: y"}}}, metav1.ConditionTrue, ReasonAsExpected},
		"refused":   {"the spec comes first", Facts{Intent: Intent{Refusal: refused}, Placement: &Problem{"P", "p"}, Taken: map[string]string{"a": "s"}}, metav1.ConditionFalse, ReasonBadField},
		"placement": {"then the placement", Facts{Placement: &Problem{"P", "p"}, Taken: map[string]string{"a": "s"}}, metav1.ConditionFalse, "P"},
		"taken":     {"then what a person has to do", Facts{Taken: map[string]string{"a": "s"}, Missing: []string{"b"}}, metav1.ConditionFalse, ReasonSecretTaken},
		"missing":   {"then what is under way", Facts{Missing: []string{"b"}}, metav1.ConditionFalse, ReasonRegistering},
		"agents":    {"what only agents have comes after it", Facts{Agents: []metav1.Condition{{Type: v1beta1.ConditionPrincipalFound, Status: metav1.ConditionFalse, Reason: "A", Message: "do a"}, {Type: v1beta1.ConditionAgentsDeployed, Status: metav1.ConditionFalse, Reason: "B"}}}, metav1.ConditionFalse, "A"},
		"leaving":   {"one that leaves in order is no failure", Facts{Decision: Decision{Leaving: []string{"a"}, Allowed: 1}}, metav1.ConditionTrue, ReasonAsExpected},
		"held":      {"too many are", Facts{Decision: Decision{Leaving: []string{"a", "b"}, Allowed: 1, HeldBack: true}}, metav1.ConditionFalse, ReasonHeldBack},
		"unknown":   {"one that stays until an error is mended is", Facts{Decision: Decision{Leaving: []string{"a"}, Allowed: 1}, NotEvaluated: "mend it"}, metav1.ConditionFalse, ReasonNotEvaluated},
		"dry":       {"a dry run is never ready", Facts{Intent: Intent{DryRun: true}, Missing: []string{"b"}}, metav1.ConditionFalse, ReasonDryRun},
		"dryFirst":  {"and says first what is wrong", Facts{Intent: Intent{DryRun: true}, Placement: &Problem{"P", "p"}}, metav1.ConditionFalse, "P"},
		"deleting":  {"what is deleted is not ready", Facts{Deleting: true}, metav1.ConditionFalse, ReasonDeleting},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := c.facts.Status(&v1beta1.GitOpsClusterStatus{}, time.Unix(1_767_000_000, 0))
			ready := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionReady)
			if ready == nil || ready.Status != c.status || ready.Reason != c.want {
				t.Errorf("%s: %+v", c.reason, ready)
			}
			if (s.Phase == v1beta1.PhaseSuccessful) != (c.status == metav1.ConditionTrue) || s.Message == "" {
				t.Errorf("phase %s, message %s", s.Phase, s.Message)
			}
		})
	}
}

// The status of unchanged facts does not change with time. A condition's time is the time of its last
// change.
func TestStatus_changesTimesOnlyWithFacts(t *testing.T) {
	first, later := time.Unix(1_767_000_000, 0), time.Unix(1_767_003_600, 0)
	f := Facts{Missing: []string{"b", "a"}, Taken: map[string]string{"t": "s"}}
	before := f.Status(&v1beta1.GitOpsClusterStatus{}, first)
	if diff := cmp.Diff(before, f.Status(&before, later)); diff != "" {
		t.Errorf("nothing has changed:\n%s", diff)
	}
	after := Facts{Missing: []string{"a"}}.Status(&before, later)
	changed := meta.FindStatusCondition(after.Conditions, v1beta1.ConditionSpecAccepted)
	if len(after.Waiting) != 1 || !after.Waiting[0].Since.Time.Equal(first) || !changed.LastTransitionTime.Time.Equal(first) {
		t.Errorf("waiting %+v, accepted since %s", after.Waiting, changed.LastTransitionTime)
	}
	ready := Facts{}.Status(&after, later)
	if c := meta.FindStatusCondition(ready.Conditions, v1beta1.ConditionReady); !c.LastTransitionTime.Time.Equal(later) {
		t.Errorf("ready since %s", c.LastTransitionTime)
	}
}

// For a fleet of any size, the status stays small and its counts are complete.
func TestStatus_isBounded(t *testing.T) {
	f := Facts{Intent: Intent{DryRun: true, Unused: []string{strings.Repeat("x", 1<<16)}}, Taken: map[string]string{}}
	for i := range 5000 {
		name := fmt.Sprintf("cluster-%s-%04d", strings.Repeat("n", 200), i)
		f.Missing = append(f.Missing, name)
		f.Decision.Leaving = append(f.Decision.Leaving, name)
		f.Plan = append(f.Plan, v1beta1.PlannedWrite{Verb: "create", Name: name})
	}
	s := f.Status(&v1beta1.GitOpsClusterStatus{}, time.Unix(0, 0))
	if len(s.Waiting) != MaxListed || len(s.Leaving) != MaxListed || len(s.Plan) != MaxPlanned || s.Planned != 5000 {
		t.Errorf("%d waiting, %d leaving, %d of %d planned", len(s.Waiting), len(s.Leaving), len(s.Plan), s.Planned)
	}
	for _, c := range s.Conditions {
		if len(c.Message) > 1024 {
			t.Errorf("%s has a message of %d bytes", c.Type, len(c.Message))
		}
	}
}

// The message does not suggest an annotation that is already set.
func TestLeaving_asksForAbandonOnce(t *testing.T) {
	for set, want := range map[bool]bool{false: true, true: false} {
		c := Facts{Intent: Intent{Abandon: set}, AgentsLeaving: map[string]string{"c1": "waiting"}}.departing()
		if got := strings.Contains(c.Message, "deletion-policy"); got != want || c.Reason != ReasonAgentLeaving {
			t.Errorf("abandon %t: %+v", set, c)
		}
	}
}

// The message does not suggest an annotation that nothing reads without agents.
func TestLeaving_asksForTheFlagWithoutAgents(t *testing.T) {
	c := Facts{AgentsLeaving: map[string]string{"c1": WithoutAgents}}.departing()
	if strings.Contains(c.Message, "deletion-policy") || !strings.Contains(c.Message, "--agents") {
		t.Errorf("the message is %q", c.Message)
	}
}

// The deletion of a GitOpsCluster shows the error that it waits for.
func TestDeleting_reportsWhatCannotBeEvaluated(t *testing.T) {
	c := Facts{Deleting: true, NotEvaluated: "mend it"}.deleting()
	if c.Reason != ReasonDeleting || !strings.HasSuffix(c.Message, "not deleted yet: mend it") {
		t.Errorf("the condition is %+v", c)
	}
}
