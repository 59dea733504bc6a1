// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// OnDelete changes a work into the work that ManifestWork creates for the other deletion policy.
func TestOnDelete(t *testing.T) {
	for _, shared := range []bool{true, false} {
		inputs := func(orphan bool) Inputs {
			p := Inputs{Application: adopting("", `{"project":"p"}`), Orphan: orphan, CreateNamespace: shared, ProjectNamespace: "argocd"}
			if shared {
				p.Project = &argocd.AppProject{Spec: json.RawMessage(`{}`)}
			}
			return p
		}
		stays, err := ManifestWork(inputs(true))
		if err != nil {
			t.Fatal(err)
		}
		goes, err := ManifestWork(inputs(false))
		if err != nil {
			t.Fatal(err)
		}
		if stays.Annotations[contract.OnWithdrawAnnotation] != DeletionOrphan || goes.Annotations[contract.OnWithdrawAnnotation] != "" {
			t.Errorf("stays: %+v, goes: %+v", stays.Spec.DeleteOption, goes.Spec.DeleteOption)
		}
		changed := goes.DeepCopy()
		if OnDelete(changed, true); !cmp.Equal(changed, stays) {
			t.Errorf("one that is to stay: %s", cmp.Diff(stays, changed))
		}
		if OnDelete(changed, false); !cmp.Equal(changed, goes) {
			t.Errorf("one that is to go again: %s", cmp.Diff(goes, changed))
		}
	}
}

// The last version of a work decides its deletion: with the finalizers of the hub, as an orphan, or as an
// orphan without automation.
func TestEndingOf(t *testing.T) {
	const automated = `{"destination":{"server":"https://kubernetes.default.svc"},"project":"p","syncPolicy":{"automated":{"prune":true}}}`
	cascade := []string{argocd.ResourcesFinalizer}
	for name, c := range map[string]struct {
		reason     string
		finalizers []string // in the stored work
		orphan     bool
		request    bool
		ending     Ending
		want       string // part of the written Application, empty for no write
	}{
		"as it is":             {"nothing is written for an end that the work says already", cascade, false, false, Ending{Finalizers: cascade}, ""},
		"without cascade":      {"a finalizer that the hub has taken off is taken off", cascade, false, false, Ending{}, `"metadata":{"annotations":{"apps.open-cluster-management.io/request":"end-without-cascade"},"name":"shop"`},
		"hooks alone":          {"nothing is pruned: the cluster is to report", []string{argocd.PostDeleteFinalizer}, false, false, Ending{Finalizers: []string{argocd.PostDeleteFinalizer}}, `request":"end-without-cascade"`},
		"without, as before":   {"a former manager may have set one: the cluster is to report", nil, false, false, Ending{}, `request":"end-without-cascade"`},
		"with cascade":         {"one that was set a moment before the deletion is delivered", nil, false, false, Ending{Finalizers: cascade}, `"finalizers":["` + argocd.ResourcesFinalizer + `"]`},
		"orphan":               {"an orphan keeps its finalizers: nothing is deleted", cascade, false, false, Ending{Orphan: true}, `"finalizers":["` + argocd.ResourcesFinalizer + `"]`},
		"orphan already":       {"no second write", cascade, true, false, Ending{Orphan: true}, ""},
		"from orphan to prune": {"it prunes again", cascade, true, false, Ending{Finalizers: cascade}, `"finalizers"`},
		"orphan of a tenant whose binding is revoked": {"it runs on and does not follow its git any more", cascade, true, false, Ending{Orphan: true, WithoutAutomation: true}, `"syncPolicy":{}`},
		"orphan after a pause of syncs":               {"what pause took out is back", cascade, true, false, Ending{Orphan: true, Resume: true}, `"syncPolicy":{"automated":{"prune":true}}`},
		"with a request":                              {"an operation is not applied a second time by the last write", cascade, false, true, Ending{}, `request":"end-without-cascade"},"name":"shop"`},
	} {
		t.Run(name, func(t *testing.T) {
			app := adopting("", automated)
			app.Finalizers = c.finalizers
			in := Inputs{Application: app, Orphan: c.orphan}
			if c.request {
				in.Request = request.Request{ID: "operation-1", Operation: json.RawMessage(`{"sync":{}}`), Refresh: "normal"}
			}
			stored, err := ManifestWork(in)
			if err != nil {
				t.Fatal(err)
			}
			if c.ending.Resume {
				if stored.Annotations[contract.PausedAnnotation], err = WithoutAutomation(&stored.Spec); err != nil {
					t.Fatal(err)
				}
			}
			before := stored.DeepCopy()
			spec, same, err := EndingOf(stored, c.ending)
			if err != nil || !cmp.Equal(before, stored) {
				t.Fatalf("%v, and the stored work is changed: %s", err, cmp.Diff(before, stored))
			}
			raw := string(spec.Workload.Manifests[len(spec.Workload.Manifests)-1].Raw)
			if same != (c.want == "") || !strings.Contains(raw, c.want) || !same && strings.Contains(raw, `"operation":`) {
				t.Errorf("%s: nothing to write is %t, %s", c.reason, same, raw)
			}
			after := stored.DeepCopy()
			after.Spec = *spec
			OnDelete(after, c.ending.Orphan)
			if _, again, err := EndingOf(after, c.ending); err != nil || !again {
				t.Errorf("it would be written again and again: %v", err)
			}
		})
	}
}

// A reduced ending has nothing of the tenant's but the project.
func TestEndingOf_reducesTheApplication(t *testing.T) {
	app := adopting("", `{"destination":{"name":"elsewhere","namespace":"shop"},"project":"p","source":{"repoURL":"a","new":"field"},"syncPolicy":{"automated":{}}}`)
	app.Labels, app.Annotations["example.com/note"] = map[string]string{"team": "a"}, "b"
	const ignored = `"labels":{"` + argocd.IgnoreSyncLabel + `":"true"},`
	app.Finalizers = []string{argocd.ResourcesFinalizer}
	const identity = `"name":"shop","namespace":"argocd"},"spec":{"destination":{"server":"https://kubernetes.default.svc"},"project":"p"}}`
	for name, c := range map[string]struct {
		ending Ending
		agent  bool   // the cluster has an argocd-agent
		want   string // the end of the written Application
	}{
		"with an argocd-agent": {Ending{Reduced: true}, true, `"metadata":{"annotations":{"apps.open-cluster-management.io/request":"end-without-cascade"},` + ignored + identity},
		"bare":                 {Ending{Reduced: true}, false, `"metadata":{"annotations":{"apps.open-cluster-management.io/request":"end-without-cascade"},` + identity},
		"orphan":               {Ending{Orphan: true, WithoutAutomation: true, Reduced: true}, false, `"finalizers":["` + argocd.ResourcesFinalizer + `"],` + identity},
	} {
		stored, err := ManifestWork(Inputs{Application: app, HasAgent: c.agent})
		if err != nil {
			t.Fatal(err)
		}
		spec, same, err := EndingOf(stored, c.ending)
		if raw := string(spec.Workload.Manifests[0].Raw); err != nil || same || !strings.HasSuffix(raw, c.want) {
			t.Errorf("%s: it is written %t as %s, %v", name, !same, raw, err)
		}
		stored.Spec = *spec
		OnDelete(stored, c.ending.Orphan)
		if _, same, err = EndingOf(stored, c.ending); err != nil || !same {
			t.Errorf("%s: it would be written again and again: %v", name, err)
		}
	}
}

// An Application that must not be taken over is not reduced.
func TestReducible(t *testing.T) {
	for policy, want := range map[string]bool{"": true, ManagementNoTakeover: false, ManagementObserve: false} {
		work, err := ManifestWork(Inputs{Application: adopting(policy, `{"project":"p"}`)})
		if err != nil || Reducible(&work.Spec) != want {
			t.Errorf("with policy %q it is reducible %t, %v", policy, !want, err)
		}
	}
}

func TestEndPatch(t *testing.T) {
	stored := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	for _, c := range []struct {
		reason         string
		orphan, marked bool
		want           string
	}{
		{"a mark that is there stays, for the version that was seen", true, true, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":"/spec"`},
		{"the mark goes with the wish", false, true, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/metadata/annotations/apps.open-cluster-management.io~1on-withdraw"},{"op":"replace","path":"/spec"`},
		{"an orphan is marked", true, false, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/apps.open-cluster-management.io~1on-withdraw","value":"orphan"},{"op":"replace","path":"/spec"`},
		{"no mark to take away", false, false, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":"/spec"`},
	} {
		work := stored.DeepCopy()
		if c.marked {
			work.Annotations = map[string]string{contract.OnWithdrawAnnotation: DeletionOrphan}
		}
		got, err := EndPatch(work, &workv1.ManifestWorkSpec{}, Ending{Orphan: c.orphan})
		if err != nil || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("%s: got %s, %v", c.reason, got, err)
		}
	}
}

// The mark contains who requested the orphan, and the automation that the ending removes. Both are needed if
// the ending is reverted.
func TestEndPatch_storesTheOriginAndTheAutomation(t *testing.T) {
	stored, err := ManifestWork(Inputs{Application: adopting("", `{"destination":{"server":"https://kubernetes.default.svc"},"syncPolicy":{"automated":{"prune":true}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	stored.ResourceVersion = "7"
	end := Ending{Orphan: true, BySet: true, WithoutAutomation: true}
	spec, _, err := EndingOf(stored, end)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := EndPatch(stored, spec, end)
	for _, want := range []string{`on-withdraw-by","value":"set"`, `paused","value":"sync {\"prune\":true}"`} {
		if err != nil || !strings.Contains(string(patch), want) {
			t.Errorf("%s is not in %s, %v", want, patch, err)
		}
	}
	if got := MarkOf(map[string]string{contract.OnWithdrawAnnotation: DeletionOrphan, contract.OnWithdrawByAnnotation: "set"}); got != BySet {
		t.Errorf("the mark is by %q", got)
	}
	if got := MarkOf(map[string]string{contract.OnWithdrawAnnotation: DeletionOrphan}); got != ByApplication {
		t.Errorf("a mark without a speaker is by %q", got)
	}
}

// The reported state of the Application with the ending's request proves the ending.
func TestProofOf(t *testing.T) {
	text := func(name, value string) workv1.FeedbackValue {
		return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
	}
	for name, c := range map[string]struct {
		reason string
		ending Ending
		values []workv1.FeedbackValue
		want   Proof
		done   bool
	}{
		"prunes":    {reason: "nothing has to stay", ending: Ending{Finalizers: []string{argocd.ResourcesFinalizer}}, want: Proof{Known: true}, done: true},
		"orphan":    {reason: "nothing is taken out", ending: Ending{Orphan: true}, want: Proof{Known: true}, done: true},
		"silent":    {reason: "the agent has not reported", ending: Ending{}},
		"before":    {reason: "it has reported on the Application as it was", ending: Ending{}, values: []workv1.FeedbackValue{text(contract.FeedbackRequest, "operation-1")}},
		"gone":      {reason: "no finalizer is left", ending: Ending{}, values: []workv1.FeedbackValue{text(contract.FeedbackRequest, endRequest)}, want: Proof{Known: true}, done: true},
		"finalizer": {reason: "another field manager keeps one", ending: Ending{}, values: []workv1.FeedbackValue{text(contract.FeedbackRequest, endRequest), text("finalizer0", argocd.ResourcesFinalizer)}, want: Proof{Known: true, Finalizer: argocd.ResourcesFinalizer}},
		"hooks": {
			reason: "a finalizer for hooks alone prunes nothing", ending: Ending{Finalizers: []string{argocd.PostDeleteFinalizer}},
			values: []workv1.FeedbackValue{text(contract.FeedbackRequest, endRequest), text("finalizer0", argocd.PostDeleteFinalizer), text("finalizer1", argocd.BackgroundFinalizer)},
			want:   Proof{Known: true, Finalizer: argocd.BackgroundFinalizer},
		},
		"automated": {
			reason: "another field manager has it sync by itself", ending: Ending{Orphan: true, WithoutAutomation: true},
			values: []workv1.FeedbackValue{text(contract.FeedbackRequest, stayRequest), text(contract.FeedbackAutomationOwner, "kubectl")}, want: Proof{Known: true, Manager: "kubectl"},
		},
		"stays": {
			reason: "nobody has", ending: Ending{Orphan: true, WithoutAutomation: true},
			values: []workv1.FeedbackValue{text(contract.FeedbackRequest, stayRequest)}, want: Proof{Known: true}, done: true,
		},
	} {
		work := &workv1.ManifestWork{}
		work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural},
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: c.values},
		}}
		if got := ProofOf(work, c.ending); got != c.want || got.Done() != c.done {
			t.Errorf("%s: %s: got %+v", name, c.reason, got)
		}
	}
}
