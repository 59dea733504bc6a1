// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Decide warns about needs that propagation does not deliver: signature keys and hydrated manifests. The
// warning ends once the cluster or the hub reports that they exist.
func TestDecide_warnsAboutUndeliveredNeeds(t *testing.T) {
	demands := func(s *scene, spec string) {
		s.Settings.DeliverProject = true
		s.Project = &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "wide"}, Spec: json.RawMessage(spec)}
	}
	const open, signed = `{"destinations":[{"server":"*","namespace":"*"}]}`, `{"destinations":[{"server":"*","namespace":"*"}],"signatureKeys":[{"keyID":"4AEE18F83AFDEB23"}]}`
	reports := func(s *scene, values ...workv1.FeedbackValue) {
		w := s.delivered("w1")
		w.Live.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
		w.Live.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Name: s.app.Name},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
		}}
		w.see()
	}
	hydrates := func(s *scene) {
		s.app.Spec = json.RawMessage(`{"destination":{"namespace":"shop"},"project":"wide","sourceHydrator":{"drySource":{"repoURL":"a"},"syncSource":{"targetBranch":"b","path":"c"}}}`)
	}
	synced, failed := value(contract.FeedbackSyncStatus, argocd.SyncSynced), value(contract.FeedbackCondition(argocd.ComparisonError), "is not signed")
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"no signatures": {change: func(s *scene) { demands(s, open) }},
		"signatures":    {change: func(s *scene) { demands(s, signed) }, want: policy.ReasonSignatures},
		"source integrity": {change: func(s *scene) {
			demands(s, `{"destinations":[{"server":"*","namespace":"*"}],"sourceIntegrity":{"git":{}}}`)
		}, want: policy.ReasonSignatures},
		"not delivered":      {change: func(s *scene) { demands(s, signed); s.Settings.DeliverProject = false }},
		"not compared":       {change: func(s *scene) { demands(s, signed); reports(s) }, want: policy.ReasonSignatures},
		"keys are there":     {change: func(s *scene) { demands(s, signed); reports(s, synced) }},
		"keys are not there": {change: func(s *scene) { demands(s, signed); reports(s, synced, failed) }, want: policy.ReasonSignatures},
		"nobody hydrates":    {change: hydrates, want: policy.ReasonNotHydrated},
		"the hub hydrates": {change: func(s *scene) {
			hydrates(s)
			s.app.Status = json.RawMessage(`{"sourceHydrator":{"lastSuccessfulOperation":{}}}`)
		}},
		"a usual Application": {change: func(*scene) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			test.change(s)
			plan := Decide(s.Facts)
			found := slices.ContainsFunc(plan.Report.Warnings, func(m policy.Message) bool { return m.Reason == test.want })
			if plan.Write == nil && len(s.Works) == 0 || found != (test.want != "") || test.want == "" && len(plan.Report.Warnings) > 0 {
				t.Errorf("got %+v, want %q", plan.Report, test.want)
			}
		})
	}
}
