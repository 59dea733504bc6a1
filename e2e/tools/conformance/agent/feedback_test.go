// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ocmfeature "open-cluster-management.io/api/feature"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/work/spoke/statusfeedback"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func TestMain(m *testing.M) {
	if err := features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeWorkFeatureGates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const long = 3000

// An error of the reader makes the agent report StatusFeedbackSynced=False. So no status that Argo CD writes
// may cause an error, with and without the feature gate that lets an agent report lists.
func TestAgent_readsEveryPath(t *testing.T) {
	message := strings.Repeat("x", long)
	cut := message[:contract.MaxMessage-len("…")] + "…"
	digest := strings.Repeat("0123456789abcdef", 4)
	cases := map[string]struct {
		reason string
		status string
		// sources is the number of sources in spec.sources.
		sources int
		want    contract.Feedback
		silent  bool
		raw     *contract.Feedback // with RawFeedbackJsonString, where it differs
	}{
		"noStatus":     {reason: "an Application that Argo CD has not seen", status: ``, silent: true},
		"emptyStatus":  {reason: "nothing in it is no error", status: `{}`, silent: true},
		"nullMembers":  {reason: "null is nothing", status: `{"health":null,"sync":null,"operationState":{"finishedAt":null},"reconciledAt":null}`, silent: true},
		"noConditions": {reason: "a filter over an empty list", status: `{"conditions":[]}`, silent: true},
		"first":        {reason: "before the first comparison", status: `{"sync":{"status":""}}`},
		"healthy": {
			reason: "everything there is",
			status: `{"health":{"status":"Healthy","message":"fine"},"sync":{"status":"Synced","revision":"53e28ff2"},"reconciledAt":"2026-11-20T10:00:00Z",
				"operationState":{"phase":"Succeeded","startedAt":"2026-11-20T09:00:00Z","finishedAt":"2026-11-20T09:01:00Z","message":"ok","operation":{},"retryCount":2}}`,
			want: contract.Feedback{
				Health: "Healthy", HealthMessage: "fine", Sync: "Synced", Revision: "53e28ff2", ReconciledAt: "2026-11-20T10:00:00Z",
				Operation: contract.OperationFeedback{Phase: "Succeeded", StartedAt: "2026-11-20T09:00:00Z", FinishedAt: "2026-11-20T09:01:00Z", Message: "ok"},
			},
		},
		"severalSources": {
			reason: "revisions is a list, revision is absent, and so is a list that Argo CD could not make", sources: 3,
			status: `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revisions":["a","b","c"]},"operationState":{"syncResult":{"revision":""}}}`,
			want:   contract.Feedback{Health: "Healthy", Sync: "Synced", Revisions: []string{"a", "b", "c"}},
		},
		"lessPathsThanSources": {
			reason: "of more sources than are asked for the first count", sources: 1,
			status: `{"sync":{"status":"Synced","revisions":["a","b"]},"operationState":{"syncResult":{"revision":"","revisions":["c","d"]}}}`,
			want:   contract.Feedback{Sync: "Synced", Revisions: []string{"a"}, OperationRevisions: []string{"c"}},
		},
		"operationRevision": {
			reason: "what the last operation synced may be another revision",
			status: `{"sync":{"status":"OutOfSync","revision":"b"},"operationState":{"syncResult":{"revision":"a","resources":[]}}}`,
			want:   contract.Feedback{Sync: "OutOfSync", Revision: "b", OperationRevision: "a"},
		},
		"oci": {
			reason: "the revision of an OCI source is a digest, which comes whole",
			status: `{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"sha256:` + digest + `"},"sourceType":"Helm","operationState":{"syncResult":{"revision":"sha256:` + digest + `",
				"source":{"repoURL":"oci://registry.example.com/charts/guestbook","targetRevision":"1.2.3","path":"."}}}}`,
			want: contract.Feedback{Health: "Healthy", Sync: "Synced", Revision: "sha256:" + digest, OperationRevision: "sha256:" + digest},
		},
		"resources": {
			reason: "the first with each problem, of one resource kind and name; a hook has a phase and no status",
			status: `{"resources":[
				{"kind":"Service","name":"well","status":"Synced","health":{"status":"Healthy"}},
				{"kind":"Namespace","name":"no health","status":"Synced"},
				{"kind":"Deployment","name":"a","status":"Synced","health":{"status":"Degraded"}},
				{"kind":"StatefulSet","name":"b","status":"OutOfSync","health":{"status":"Degraded","message":"of b"}},
				{"kind":"ConfigMap","name":"c","status":"OutOfSync"}],
				"operationState":{"syncResult":{"revision":"r","resources":[
				{"group":"","version":"v1","namespace":"n","kind":"Service","name":"d","status":"Synced","hookPhase":"Running","message":"m"},
				{"group":"","version":"v1","namespace":"n","kind":"Job","name":"e","hookPhase":"Failed","hookType":"PreSync","message":"of e"},
				{"group":"","version":"v1","namespace":"n","kind":"Secret","name":"f","status":"SyncFailed","hookPhase":"Failed","message":"of f"},
				{"group":"","version":"v1","namespace":"n","kind":"Secret","name":"g","status":"SyncFailed","hookPhase":"Failed","message":"of g"}]}}}`,
			want: contract.Feedback{OperationRevision: "r", Resources: []contract.Resource{
				{Problem: contract.ResourceSyncFailed, Kind: "Secret", Name: "f", Message: "of f"},
				{Problem: contract.ResourceHookFailed, Kind: "Job", Name: "e", Message: "of e"},
				{Problem: contract.ResourceDegraded, Kind: "Deployment", Name: "a", Message: "of b"},
				{Problem: contract.ResourceOutOfSync, Kind: "StatefulSet", Name: "b"},
			}},
		},
		"conditions": {
			reason: "each type once, others not at all",
			status: `{"conditions":[{"type":"SomethingNew","message":"n"},{"type":"SyncError","message":"s"},{"type":"ComparisonError","message":"c"}]}`,
			want:   contract.Feedback{Conditions: []contract.Condition{{Type: "ComparisonError", Message: "c"}, {Type: "SyncError", Message: "s"}}},
		},
		"twice": {
			reason: "of two of a type the first counts, whatever the agent makes of it",
			status: `{"conditions":[{"type":"RepeatedResourceWarning","message":"one"},{"type":"RepeatedResourceWarning","message":"two"}]}`,
			want:   contract.Feedback{Conditions: []contract.Condition{{Type: "RepeatedResourceWarning", Message: "one"}}},
		},
		"messageless": {
			reason: "a condition without type or message is skipped",
			status: `{"conditions":[{},{"type":"SyncError"},{"type":"UnknownError","message":null},{"type":"DeletionError","message":"d"}]}`,
			want:   contract.Feedback{Conditions: []contract.Condition{{Type: "DeletionError", Message: "d"}}},
		},
		"long": {
			reason: "a long text comes whole, since the agent's limit is for lists, and is cut where it enters",
			status: `{"conditions":[{"type":"SyncError","message":"` + message + `"}],"operationState":{"message":"` + message + `"}}`,
			want:   contract.Feedback{Operation: contract.OperationFeedback{Message: cut}, Conditions: []contract.Condition{{Type: "SyncError", Message: cut}}},
		},
		"quotes": {
			reason: "what is in a text is not looked at", status: `{"conditions":[{"type":"SyncError","message":"a \"b\" {c} [d]\nö"}]}`,
			want: contract.Feedback{Conditions: []contract.Condition{{Type: "SyncError", Message: "a \"b\" {c} [d]\nö"}}},
		},
	}
	for _, gate := range []bool{false, true} {
		if err := features.SpokeMutableFeatureGate.SetFromMap(map[string]bool{string(ocmfeature.RawFeedbackJsonString): gate}); err != nil {
			t.Fatal(err)
		}
		for name, c := range cases {
			t.Run(fmt.Sprintf("%s/gate=%t", name, gate), func(t *testing.T) {
				values, err := read(t, c.status, c.sources)
				if err != nil {
					t.Fatalf("%s: the agent says %v", c.reason, err)
				}
				got, ok := contract.ParseFeedback(values)
				if ok == c.silent {
					t.Errorf("%s: reported is %t", c.reason, ok)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
			})
		}
	}
}

// An error of the agent loses only one value. Argo CD does not write the null list, which its CRD rejects.
// Two long errors of one type are too long only for an agent with the feature gate. A list of revisions is
// too short until Argo CD has compared with a new source.
func TestAgent_losesOneValueByAnError(t *testing.T) {
	if err := features.SpokeMutableFeatureGate.SetFromMap(map[string]bool{string(ocmfeature.RawFeedbackJsonString): true}); err != nil {
		t.Fatal(err)
	}
	message := strings.Repeat("x", long)
	for name, status := range map[string]string{
		"nullList":  `{"health":{"status":"Degraded"},"conditions":null}`,
		"longList":  `{"health":{"status":"Degraded"},"conditions":[{"type":"SyncError","message":"` + message + `"},{"type":"SyncError","message":"two"}]}`,
		"shortList": `{"health":{"status":"Degraded"},"sync":{"revisions":["a","b"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			values, err := read(t, status, 3)
			if err == nil {
				t.Fatal("the agent does not stumble any more: the case and its comment can go")
			}
			if got, _ := contract.ParseFeedback(values); got.Health != "Degraded" {
				t.Errorf("other values are lost: %+v", got)
			}
		})
	}
}

// The agent reports the fields of the Application's metadata that show the state of a one-time request.
func TestAgent_readsRequests(t *testing.T) {
	const applied = `{"manager":"work-agent","operation":"Apply","fieldsV1":{"f:metadata":{"f:labels":{}},"f:spec":{}%s}}`
	const argo = `{"manager":"argocd-application-controller","operation":"Update","fieldsV1":{"f:status":{}}}`
	cases := map[string]struct {
		reason, annotations, managers string
		want                          map[string]string
	}{
		"waiting": {
			reason: "the agent owns the operation as long as Argo CD has not taken it", annotations: `{"%s":"r1","argocd.argoproj.io/refresh":"normal"}`,
			managers: fmt.Sprintf(applied, `,"f:operation":{"f:sync":{}}`) + "," + argo,
			want:     map[string]string{contract.FeedbackRequest: "r1", contract.FeedbackOperationOwner: "work-agent", contract.FeedbackRefresh: "normal"},
		},
		"done": {
			reason: "nobody owns an operation that has run", annotations: `{"%s":"r1"}`, managers: fmt.Sprintf(applied, "") + "," + argo,
			want: map[string]string{contract.FeedbackRequest: "r1"},
		},
		"bare": {reason: "no annotations are no error", annotations: `null`, managers: argo},
	}
	for _, gate := range []bool{false, true} {
		if err := features.SpokeMutableFeatureGate.SetFromMap(map[string]bool{string(ocmfeature.RawFeedbackJsonString): gate}); err != nil {
			t.Fatal(err)
		}
		for name, c := range cases {
			t.Run(fmt.Sprintf("%s/gate=%t", name, gate), func(t *testing.T) {
				annotations := strings.ReplaceAll(c.annotations, "%s", contract.RequestAnnotation)
				var object map[string]any
				if err := json.Unmarshal([]byte(`{"metadata":{"annotations":`+annotations+`,"managedFields":[`+c.managers+`]}}`), &object); err != nil {
					t.Fatal(err)
				}
				rule := workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: contract.RequestPaths()}
				values, err := statusfeedback.NewStatusReader().GetValuesByRule(&unstructured.Unstructured{Object: object}, rule)
				if err != nil {
					t.Fatalf("%s: the agent says %v", c.reason, err)
				}
				var got map[string]string
				for _, v := range values {
					if got == nil {
						got = map[string]string{}
					}
					got[v.Name] = *v.Value.String
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
			})
		}
	}
}

func read(t *testing.T, status string, sources int) ([]workv1.FeedbackValue, error) {
	t.Helper()
	object := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
	if status != "" {
		var s any
		if err := json.Unmarshal([]byte(status), &s); err != nil {
			t.Fatal(err)
		}
		object["status"] = s
	}
	rule := workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: contract.FeedbackPaths(sources)}
	return statusfeedback.NewStatusReader().GetValuesByRule(&unstructured.Unstructured{Object: object}, rule)
}

// A deletion without cascade waits until no finalizer that would prune remains. The agent reports these
// finalizers.
func TestAgent_readsTheFinalizersOfADeletion(t *testing.T) {
	cases := map[string]struct {
		metadata, want string
		known          bool
	}{
		"not applied yet":      {metadata: `{"finalizers":["resources-finalizer.argocd.argoproj.io"]}`, want: "resources-finalizer.argocd.argoproj.io"},
		"a former manager's":   {metadata: `{"annotations":{"%s":"end"},"finalizers":["example.com/x","resources-finalizer.argocd.argoproj.io/background"]}`, want: "resources-finalizer.argocd.argoproj.io/background", known: true},
		"none":                 {metadata: `{"annotations":{"%s":"end"}}`, known: true},
		"another controller's": {metadata: `{"annotations":{"%s":"end"},"finalizers":["example.com/x"]}`, known: true},
		"an earlier request":   {metadata: `{"annotations":{"%s":"r1"}}`},
	}
	for _, gate := range []bool{false, true} {
		if err := features.SpokeMutableFeatureGate.SetFromMap(map[string]bool{string(ocmfeature.RawFeedbackJsonString): gate}); err != nil {
			t.Fatal(err)
		}
		for name, c := range cases {
			t.Run(fmt.Sprintf("%s/gate=%t", name, gate), func(t *testing.T) {
				var object map[string]any
				if err := json.Unmarshal([]byte(`{"metadata":`+strings.ReplaceAll(c.metadata, "%s", contract.RequestAnnotation)+`}`), &object); err != nil {
					t.Fatal(err)
				}
				rule := workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: contract.EndingPaths()}
				values, err := statusfeedback.NewStatusReader().GetValuesByRule(&unstructured.Unstructured{Object: object}, rule)
				if err != nil {
					t.Fatalf("the agent says %v", err)
				}
				if got, known := contract.Cascades(values, "end"); got != c.want || known != c.known {
					t.Errorf("got %q, known %t", got, known)
				}
			})
		}
	}
}
