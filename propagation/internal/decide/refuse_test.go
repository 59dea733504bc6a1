// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// If Decide refuses a delivery, the existing work stays.
func TestDecide_keepsTheWorkOfARefusedDelivery(t *testing.T) {
	rows := map[string]row{
		"label no boolean":  {change: func(s *scene) { s.app.Labels[contract.PullLabel] = "yes" }, want: policy.ReasonInvalidLabel, text: "set it to"},
		"cluster invalid":   {change: func(s *scene) { s.annotate(contract.ClusterAnnotation, "../kube-system") }, want: policy.ReasonInvalidTarget, text: "ManagedCluster"},
		"cluster too long":  {change: func(s *scene) { s.annotate(contract.ClusterAnnotation, strings.Repeat("a", 64)) }, want: policy.ReasonInvalidTarget},
		"cluster unknown":   {change: func(s *scene) { s.aim("d1"); s.Target.Exists = false }, want: policy.ReasonUnknownCluster, text: "register"},
		"cluster leaving":   {change: func(s *scene) { s.aim("d1"); s.Target.Leaving = true }, want: policy.ReasonClusterLeaving},
		"the hub":           {change: func(s *scene) { s.aim("d1"); s.Target.Hub = true }, want: policy.ReasonLocalCluster, text: "another cluster"},
		"not bound":         {change: func(s *scene) { s.aim("d1"); s.May.Bound = false }, want: policy.ReasonNotBound, text: "create a Placement"},
		"not bound, paused": {change: func(s *scene) { s.aim("d1"); s.May.Bound = false; s.annotate(contract.PausedAnnotation, "delivery") }, want: policy.ReasonNotBound},
		"project, paused": {change: func(s *scene) {
			s.project("wrong")
			s.May.Project = false
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: policy.ReasonProjectDenied},
		"namespace":         {change: func(s *scene) { s.annotate(contract.AppNamespaceAnnotation, "gitops"); s.May.Namespace = false }, want: policy.ReasonNamespaceDenied, text: "--allowed-app-namespaces"},
		"namespace invalid": {change: func(s *scene) { s.annotate(contract.AppNamespaceAnnotation, "A b") }, want: policy.ReasonInvalidTarget, text: "namespace"},
		"project":           {change: func(s *scene) { s.May.Project, s.Project = false, &argocd.AppProject{Spec: json.RawMessage(`{}`)} }, want: policy.ReasonProjectDenied, text: "spec.sourceNamespaces"},
		"project not there": {change: func(s *scene) { s.May.Project = false }, want: policy.ReasonProjectDenied, text: "there is no AppProject"},
		"project malformed": {change: func(s *scene) { s.Project = &argocd.AppProject{Spec: json.RawMessage(`{"sourceNamespaces":"team"}`)} }, want: policy.ReasonProjectDenied, text: "cannot be read"},
		"global projects": {change: func(s *scene) {
			s.Settings.DeliverProject, s.Project, s.ProjectProblem = true, &argocd.AppProject{Spec: json.RawMessage(`{}`)}, "globalProjects of ConfigMap argocd-cm"
		}, want: policy.ReasonProjectDenied, text: "argocd-cm"},
		"hydrator malformed":  {change: func(s *scene) { s.app.Spec = json.RawMessage(`{"sourceHydrator":[]}`) }, want: policy.ReasonInvalidSpec, text: "sourceHydrator"},
		"by argocd-agent":     {change: func(s *scene) { s.ByAgent = "c9" }, want: policy.ReasonAlsoByAgent, text: "remove label"},
		"policy invalid":      {change: func(s *scene) { s.annotate(contract.DeletionPolicyAnnotation, "nonsense") }, want: policy.ReasonInvalidTarget, text: "want prune or orphan"},
		"set's policy":        {change: func(s *scene) { s.set(Annotations{Policy: policy.DeletionPolicy{Problem: "its value"}}) }, want: policy.ReasonInvalidTarget},
		"management invalid":  {change: func(s *scene) { s.annotate(contract.ManagementPolicyAnnotation, "yes") }, want: policy.ReasonInvalidTarget, text: "want no-takeover or observe"},
		"no spec":             {change: func(s *scene) { s.app.Spec = nil }, want: policy.ReasonInvalidSpec, text: "no spec"},
		"spec is null":        {change: func(s *scene) { s.app.Spec = json.RawMessage("null") }, want: policy.ReasonInvalidSpec},
		"spec is a list":      {change: func(s *scene) { s.app.Spec = json.RawMessage("[1]") }, want: policy.ReasonInvalidSpec},
		"destination is text": {change: func(s *scene) { s.app.Spec = json.RawMessage(`{"destination":"x"}`) }, want: policy.ReasonInvalidSpec},
		"observe a delivery":  {change: func(s *scene) { s.annotate(contract.ManagementPolicyAnnotation, "observe") }, want: policy.ReasonInvalidTarget, text: "then delete this Application and create it again"},
		"observe and move": {change: func(s *scene) {
			s.aim("d1")
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
		}, want: policy.ReasonInvalidTarget, text: `cluster "c1"`},
		"observe elsewhere in the cluster": {change: func(s *scene) {
			s.annotate(contract.AppNamespaceAnnotation, "gitops")
			s.annotate(contract.ManagementPolicyAnnotation, "observe")
		}, want: policy.ReasonInvalidTarget},
		"identity only left": {change: func(s *scene) {
			s.aim("d1")
			s.Rivals = []Rival{{Key: types.NamespacedName{Namespace: "other", Name: "shop"}, Copy: "its"}}
		}, want: policy.ReasonWaitingForOld, text: "has not finished removing"},
		"identity wanted by an older": {change: func(s *scene) {
			s.aim("d1")
			s.Rivals = []Rival{{Key: types.NamespacedName{Namespace: "other", Name: "shop"}, Wants: true, Created: noon.Add(-time.Hour * 9)}}
			s.app.CreationTimestamp = metav1.NewTime(noon)
		}, want: policy.ReasonTaken, text: "already delivers"},
		"two wait for each other": {change: func(s *scene) {
			s.aim("d1")
			s.Rivals = []Rival{{Key: types.NamespacedName{Namespace: "other", Name: "shop"}, Copy: "its", Waits: s.Key}}
		}, want: policy.ReasonWaitingForOld, text: "third namespace"},
		"too large": {change: func(s *scene) { s.Settings.SizeLimit = 100 }, want: policy.ReasonTooLarge, text: "into git"},
		"no room for its ending": {change: func(s *scene) {
			work, err := payload.ManifestWork(payload.Inputs{Application: s.app})
			if err != nil {
				panic(err) // the scene is invalid
			}
			s.Settings.SizeLimit = payload.Size(&work.Spec)
		}, want: policy.ReasonTooLarge},
		"spec not kept": {change: func(s *scene) {
			s.app.Spec = json.RawMessage(`{"multicluster-integrations/bytes":700000,"project":"wide","destination":{}}`)
		}, want: policy.ReasonTooLarge},
		"operation left out": {change: func(s *scene) {
			s.app.Operation = json.RawMessage(`{"multicluster-integrations/bytes":700000}`)
		}, want: policy.ReasonTooLarge, text: "700000"},
	}
	for name, r := range rows {
		change := r.change
		r.reason, r.want = "what was delivered before stays", "w keep; "+r.want
		r.change = func(s *scene) {
			s.delivered("w")
			change(s)
		}
		rows[name] = r
	}
	run(t, rows)
	for _, reason := range []string{"not bound", "project", "cluster unknown", "label no boolean"} {
		s := newScene()
		rows[reason].change(s)
		if text := Decide(s.Facts).Report.Refusal.Text; !strings.Contains(text, `until then cluster "c1" keeps what was delivered before`) {
			t.Errorf("%s: %q does not say that it stays", reason, text)
		}
	}
}
