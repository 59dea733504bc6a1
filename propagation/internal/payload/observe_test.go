// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

func adopting(how, spec string) *argocd.Application {
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "shop", UID: "0123456789", Annotations: map[string]string{contract.ClusterAnnotation: "cluster7", contract.ManagementPolicyAnnotation: how}},
		Spec:       json.RawMessage(spec),
		Operation:  json.RawMessage(`{"sync":{}}`),
	}
}

// A work that observes an Application cannot change it. Its only manifest is read-only and has no content to
// apply, and the end of the work orphans the Application.
func TestManifestWork_onlyReadsAnObservedApplication(t *testing.T) {
	p := Inputs{Application: adopting(ManagementObserve, `{"project":"p"}`), Project: &argocd.AppProject{}, ProjectNamespace: "argocd", CreateNamespace: true}
	work, err := ManifestWork(p)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"shop","namespace":"argocd"}}`
	if m := work.Spec.Workload.Manifests; len(m) != 1 || string(m[0].Raw) != want {
		t.Errorf("it carries %s", m)
	}
	if c := work.Spec.ManifestConfigs; len(c) != 1 || c[0].UpdateStrategy.Type != workv1.UpdateStrategyTypeReadOnly || c[0].FeedbackScrapeType != workv1.FeedbackWatchType {
		t.Errorf("it does more than read: %+v", c)
	}
	if d := work.Spec.DeleteOption; d.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan || d.SelectivelyOrphan != nil {
		t.Errorf("its end deletes: %+v", d)
	}
	if work.Annotations[contract.ObservedAnnotation] != "true" || DeliveredBy(&work.Spec) != DeliveredName(p.Application) {
		t.Errorf("it does not say what it is: %v, %s", work.Annotations, DeliveredBy(&work.Spec))
	}
}

func TestManifestWork_forcesTheApplyUnlessNoTakeover(t *testing.T) {
	for how, force := range map[string]bool{"": true, ManagementNoTakeover: false} {
		work, err := ManifestWork(Inputs{Application: adopting(how, `{"project":"p"}`), Project: &argocd.AppProject{Spec: json.RawMessage(`{}`)}, ProjectNamespace: "argocd"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range work.Spec.ManifestConfigs {
			want := force || c.ResourceIdentifier.Resource != argocd.ApplicationPlural
			if got := c.UpdateStrategy.ServerSideApply.Force; got != want {
				t.Errorf("adopt %q: %s is applied with force %t", how, c.ResourceIdentifier.Resource, got)
			}
		}
		if strings.Contains(string(work.Spec.Workload.Manifests[1].Raw), contract.ManagementPolicyAnnotation) {
			t.Errorf("the hub's annotation travels")
		}
	}
}

func TestDifferences(t *testing.T) {
	const spec = `{"source":{"repoURL":"https://a","path":"shop","targetRevision":"main"},"project":"p","destination":{"namespace":"sales"}}`
	same := map[string]string{contract.FeedbackRepoURL: "https://a", contract.FeedbackPath: "shop", contract.FeedbackTargetRevision: "main", contract.FeedbackProject: "p", contract.FeedbackDestinationNamespace: "sales"}
	for _, c := range []struct {
		reason, spec, name, value, want string
	}{
		{"nothing differs", spec, "", "", ""},
		{"a revision", spec, contract.FeedbackTargetRevision, "v1", `targetRevision "v1" → "main"`},
		{"none is HEAD", `{"source":{"repoURL":"https://a","path":"shop","targetRevision":"HEAD"},"project":"p","destination":{"namespace":"sales"}}`, contract.FeedbackTargetRevision, "", ""},
		{"no project is the default one", spec, contract.FeedbackProject, "", `project "default" → "p"`},
		{"a chart in the place of a path", spec, contract.FeedbackChart, "shop", `chart "shop" → ""`},
		{"another namespace", spec, contract.FeedbackDestinationNamespace, "other", `destination namespace "other" → "sales"`},
		{"several sources are not compared", `{"sources":[{"path":"x"}],"project":"p","destination":{"namespace":"sales"}}`, contract.FeedbackPath, "y", ""},
		{"what cannot be read is spoken of elsewhere", `[]`, "", "", ""},
	} {
		var values []workv1.FeedbackValue
		for name, value := range same {
			if name != c.name {
				values = append(values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
			}
		}
		if c.name != "" && c.value != "" {
			values = append(values, workv1.FeedbackValue{Name: c.name, Value: workv1.FieldValue{Type: workv1.String, String: &c.value}})
		}
		work, _ := manifestcache.Compact(&workv1.ManifestWork{Status: workv1.ManifestWorkStatus{ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{{
			ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
		}}}}}, nil)
		if got := strings.Join(Differences(adopting(ManagementObserve, c.spec), work), ", "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
		}
	}
}
