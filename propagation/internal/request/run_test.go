// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

const asked = `{"initiatedBy":{"username":"kargo-controller","automated":true},"info":[{"name":"kargo.akuity.io/promotion","value":"canary.1"}],"sync":{"revision":"abc","prune":true},"retry":{"limit":2}}`

// asking returns an Application with the operation and its claim, and the claim.
func asking(t *testing.T, operation string) (*argocd.Application, string) {
	t.Helper()
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "0123456789abcdef", ResourceVersion: "1"}, Operation: json.RawMessage(operation)}
	claim := newClaim(app, wantedKinds(app))
	merged, _ := appstatus.Merge(nil, func(string) bool { return true }, []appstatus.Condition{{Type: ClaimCondition, Message: ClaimMessage(claim, "cluster1")}}, time.Now())
	raw, err := json.Marshal(map[string]any{"conditions": merged})
	if err != nil {
		t.Fatal(err)
	}
	app.Status = raw
	return app, claim
}

// carrying returns a work that carries a request, with the agent's values as pairs of name and value.
func carrying(claim string, pairs ...string) *manifestcache.Work {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{contract.RequestAnnotation: claim}}}
	m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural}}
	for i := 0; i < len(pairs); i += 2 {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: pairs[i], Value: workv1.FieldValue{Type: workv1.String, String: &pairs[i+1]}})
	}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	work, _ := manifestcache.Compact(w, nil)
	return work
}

func TestRunOf(t *testing.T) {
	app, claim := asking(t, asked)
	replaced := app.DeepCopy()
	replaced.Operation = json.RawMessage(`{"sync":{"revision":"next"}}`)
	unclaimed := app.DeepCopy()
	unclaimed.Status = nil
	unremoved := app.DeepCopy()
	unremoved.Status = json.RawMessage(`{"operationState":{"phase":"Failed"}}`)
	const phase, owner = contract.FeedbackOperationPhase, contract.FeedbackOperationOwner
	for name, test := range map[string]struct {
		reason  string
		app     *argocd.Application
		sent    string
		values  []string
		hub, by bool
		waits   bool
	}{
		"running":    {reason: "Argo CD runs what was applied", app: app, sent: claim, values: []string{contract.FeedbackRequest, claim, owner, "agent", phase, "Running"}, hub: true, by: true},
		"finished":   {reason: "nothing of the operation is left", app: app, sent: claim, values: []string{contract.FeedbackRequest, claim, phase, "Failed"}, hub: true, by: true},
		"terminated": {reason: "what ends it is part of it", app: app, sent: claim + terminateSuffix, values: []string{contract.FeedbackRequest, claim, owner, "agent", phase, "Running"}, hub: true, by: true},
		"waits":      {reason: "the run is the one before", app: app, sent: claim, values: []string{contract.FeedbackRequest, claim, owner, "agent", phase, "Succeeded"}, waits: true},
		"earlier":    {reason: "the request is not applied", app: app, sent: claim, values: []string{contract.FeedbackRequest, "operation-0-1", phase, "Running"}},
		"not sent":   {reason: "the work carries another request", app: app, sent: "operation-0-1", values: []string{contract.FeedbackRequest, "operation-0-1", phase, "Running"}},
		"refresh":    {reason: "a refresh begins no operation", app: app, sent: "refresh-0-1", values: []string{contract.FeedbackRequest, "refresh-0-1", phase, "Running"}},
		"no claim":   {reason: "the request has no identity yet", app: unclaimed, sent: claim, values: []string{contract.FeedbackRequest, claim, phase, "Running"}},
		"before":     {reason: "the last run has ended", app: app, sent: claim, values: []string{contract.FeedbackRequest, "operation-0-1", phase, "Failed"}, waits: true},
		"none sent":  {reason: "the hub has just asked", app: unclaimed, values: []string{phase, "Succeeded"}, waits: true},
		"shown":      {reason: "the client has not removed the state", app: unremoved, sent: claim, values: []string{phase, "Succeeded"}},
		"ended":      {reason: "the hub has another operation now, which is next", app: replaced, sent: claim, values: []string{contract.FeedbackRequest, claim, phase, "Failed"}, hub: true, waits: true},
		"replaced":   {reason: "the hub has another operation now", app: replaced, sent: claim, values: []string{contract.FeedbackRequest, claim, owner, "agent", phase, "Running"}, hub: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := RunOf(test.app, carrying(test.sent, append(test.values, contract.FeedbackOperationStartedAt, "2026-11-20T10:00:00Z")...))
			if got.OfHub != test.hub || (len(got.Operation) > 0) != test.by || got.Waits != test.waits {
				t.Errorf("%s: got %+v", test.reason, got)
			}
		})
	}
}

func TestRun_returnsTheOperationState(t *testing.T) {
	const shownOperation = `{"info":[{"name":"kargo.akuity.io/promotion","value":"canary.1"}],"initiatedBy":{"automated":true,"username":"kargo-controller"},"retry":{"limit":2},"sync":{"revision":"abc"}}`
	hubs := Run{OfHub: true, Operation: shown(json.RawMessage(asked))}
	const first, second = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"
	before := func(startedAt, operation string) string {
		return fmt.Sprintf(`{"operationState":{"phase":"Running","startedAt":%q,"operation":%s,"retryCount":3}}`, startedAt, operation)
	}
	for name, test := range map[string]struct {
		reason, hub string
		run         Run
		want        string // of the operation afterwards
		keeps       bool   // retryCount, which another client wrote
	}{
		"first":       {reason: "the hub asked for it", run: hubs, hub: `{}`, want: shownOperation},
		"another":     {reason: "nothing of the one before stays", run: hubs, hub: before(first, `{"initiatedBy":{"username":"admin"},"sync":{"revision":"x","revisions":["y"]}}`), want: shownOperation},
		"corrected":   {reason: "it is known later than seen", run: hubs, hub: before(second, `{"initiatedBy":{"automated":true},"sync":{}}`), want: shownOperation, keeps: true},
		"kept":        {reason: "the request has left the hub", hub: before(second, shownOperation), want: shownOperation, keeps: true},
		"automated":   {reason: "the cluster began it", hub: before(first, shownOperation), want: `{"initiatedBy":{"automated":true},"sync":{}}`},
		"replaced":    {reason: "nobody has it any more", run: Run{OfHub: true, Operation: appstatus.Fields{}}, hub: before(first, shownOperation), want: `{}`},
		"seen before": {reason: "it was known before it was replaced", run: Run{OfHub: true, Operation: appstatus.Fields{}}, hub: before(second, shownOperation), want: shownOperation, keeps: true},
	} {
		t.Run(name, func(t *testing.T) {
			observed := status.Observation{Operation: contract.OperationFeedback{Phase: "Succeeded", StartedAt: second}}
			want := appstatus.Fields{"operationState": test.run.State(json.RawMessage(test.hub), &observed)}
			patch, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(test.hub), &got); err != nil {
				t.Fatal(err)
			}
			var changes map[string]any
			if err := json.Unmarshal(patch, &changes); err != nil {
				t.Fatal(err)
			}
			merge(got, changes)
			state := got["operationState"].(map[string]any)
			operation, err := json.Marshal(state["operation"])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(operation)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if _, kept := state["retryCount"]; kept != test.keeps || state["phase"] != "Succeeded" {
				t.Errorf("%s: the state is %v", test.reason, state)
			}
			after, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := appstatus.Patch("1", after, appstatus.Fields{"operationState": test.run.State(after, &observed)}); err != nil || again != nil {
				t.Errorf("%s: a second write: %s, %v", test.reason, again, err)
			}
		})
	}
	if got := hubs.State(nil, &status.Observation{}); got != nil {
		t.Errorf("without an operation: %v", got)
	}
	// Kargo starts its operation again if a finished one of another origin reappears.
	if got := (Run{Waits: true}).State(nil, &status.Observation{Operation: contract.OperationFeedback{Phase: "Succeeded", StartedAt: second}}); got != nil {
		t.Errorf("the state of the operation before comes back: %v", got)
	}
}

// merge applies a JSON merge patch.
func merge(to, patch map[string]any) {
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(to, name)
		case isObject:
			into, exists := to[name].(map[string]any)
			if !exists {
				into = map[string]any{}
			}
			merge(into, inner)
			to[name] = into
		default:
			to[name] = value
		}
	}
}

// The part of an operation that the hub shows is bounded.
func TestShown_boundsTheOperation(t *testing.T) {
	entries := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"name":"n","value":%q},`, strings.Repeat("v", 4096)), 100), ",")
	raw, err := json.Marshal(shown(fmt.Appendf(nil, `{"info":[%s],"sync":{"revision":%q,"manifests":["large"]}}`, entries, strings.Repeat("r", 4096))))
	if err != nil {
		t.Fatal(err)
	}
	if limit := (maxInfo + 2) * (contract.MaxMessage + 64); len(raw) > limit || strings.Contains(string(raw), "large") {
		t.Errorf("%d bytes are shown, want at most %d", len(raw), limit)
	}
	if got := shown(json.RawMessage(`[]`)); len(got) > 0 {
		t.Errorf("of no object %v is shown", got)
	}
}
