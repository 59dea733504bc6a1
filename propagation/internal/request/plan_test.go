// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

func TestPlanFor(t *testing.T) {
	const one, two = `{"sync":{"revision":"one"}}`, `{"sync":{"revision":"two"}}`
	asking := func(operation, refresh string) *argocd.Application {
		app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", UID: "0123456789abcdef", ResourceVersion: "1", Annotations: map[string]string{},
		}}
		if operation != "" {
			app.Operation = json.RawMessage(operation)
		}
		if refresh != "" {
			app.Annotations[argocd.RefreshAnnotation] = refresh
		}
		return app
	}
	claimFor := func(operation, refresh string) string {
		app := asking(operation, refresh)
		return newClaim(app, wantedKinds(app))
	}
	both, op := claimFor(one, "normal"), claimFor(one, "")
	// work carries the request sent. The cluster has applied request last, and owner still owns .operation.
	work := func(sent, request, owner string, applied metav1.ConditionStatus) *manifestcache.Work {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 3, Annotations: map[string]string{contract.RequestAnnotation: sent}}}
		m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural}}
		for name, value := range map[string]string{contract.FeedbackRequest: request, contract.FeedbackOperationOwner: owner} {
			if value != "" {
				m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
			}
		}
		m.Conditions = []metav1.Condition{{Type: workv1.ManifestApplied, Status: applied, ObservedGeneration: 3}}
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
		kept, _ := manifestcache.Compact(w, nil)
		return kept
	}
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, c := range map[string]struct {
		reason   string
		app      *argocd.Application
		claim    string
		work     *manifestcache.Work
		unseen   bool
		step     Step
		id       string
		replaced bool
		done     []string
	}{
		"nothing":           {reason: "nothing is asked for", app: asking("", ""), step: StepSend},
		"new":               {reason: "what is asked for gets an identity", app: asking(one, "normal"), step: StepClaim, id: both},
		"send":              {reason: "then it is sent", app: asking(one, ""), claim: op, step: StepSend, id: op},
		"sendToWork":        {reason: "also to a work that is there", app: asking(one, ""), claim: op, work: work("", "", "", yes), step: StepSend, id: op},
		"hold":              {reason: "the cluster is at it", app: asking(one, ""), claim: op, work: work(op, op, "agent", yes), step: StepHold, id: op},
		"holdSilent":        {reason: "the cluster has said nothing yet, but may be at it", app: asking(one, ""), claim: op, work: work(op, "", "", yes), step: StepHold, id: op},
		"done":              {reason: "it has run", app: asking(one, ""), claim: op, work: work(op, op, "", yes), step: StepFinish, id: op, done: []string{KindOperation}},
		"doneBoth":          {reason: "and so has all of it", app: asking(one, "normal"), claim: both, work: work(both, both, "", yes), step: StepFinish, id: both, done: []string{KindOperation, KindRefresh}},
		"doneReplaced":      {reason: "what took its place has not run, and stays", app: asking(two, ""), claim: op, work: work(op, op, "", yes), step: StepFinish, id: op},
		"doneOneReplaced":   {reason: "of two only the one that ran leaves", app: asking(one, "hard"), claim: both, work: work(both, both, "", yes), step: StepFinish, id: both, done: []string{KindOperation}},
		"doneOther":         {reason: "the other way round", app: asking(two, "normal"), claim: both, work: work(both, both, "", yes), step: StepFinish, id: both, done: []string{KindRefresh}},
		"replaced":          {reason: "the running one stays in the work", app: asking(two, ""), claim: op, work: work(op, op, "agent", yes), step: StepHold, id: op, replaced: true},
		"replacedUnsent":    {reason: "one that was not sent starts anew", app: asking(two, ""), claim: op, work: work("", "", "", yes), step: StepDrop, id: op},
		"replacedRefused":   {reason: "nor one that the cluster could not apply", app: asking(two, ""), claim: op, work: work(op, "", "", no), step: StepDrop, id: op},
		"refused":           {reason: "a mended Application does not wait for a refused request", app: asking(one, ""), claim: op, work: work(op, "", "", no), step: StepSend, id: op},
		"refusedLater":      {reason: "one that was applied once may run, whatever was refused since", app: asking(one, ""), claim: op, work: work(op, op, "agent", no), step: StepHold, id: op},
		"takenBack":         {reason: "an operation that the hub has no more is ended", app: asking("", ""), claim: op, work: work(op, op, "agent", yes), step: StepDrop, id: op},
		"takenBackOfBoth":   {reason: "also if a refresh came with it", app: asking("", "normal"), claim: both, work: work(both, both, "agent", yes), step: StepDrop, id: both},
		"refreshTakenBack":  {reason: "a refresh that is gone does not make the operation run twice", app: asking(one, ""), claim: both, work: work(both, both, "agent", yes), step: StepHold, id: both, replaced: true},
		"unseen":            {reason: "the rest changes around what the cluster cannot have seen", app: asking(one, ""), claim: op, work: work(op, "", "", yes), unseen: true, step: StepSend, id: op},
		"unseenReplaced":    {reason: "which stays what was sent", app: asking(two, ""), claim: op, work: work(op, "", "", yes), unseen: true, step: StepSend, id: op, replaced: true},
		"unseenOldFeedback": {reason: "feedback of an earlier request is none of this one", app: asking(one, ""), claim: op, work: work(op, "operation-0", "", yes), unseen: true, step: StepSend, id: op},
		"seenAfterAll":      {reason: "the cluster says that it has seen it", app: asking(one, ""), claim: op, work: work(op, op, "agent", yes), unseen: true, step: StepHold, id: op},
		"afterRunning":      {reason: "an earlier one in the work runs first", app: asking(one, ""), claim: op, work: work("operation-0-1", "operation-0-1", "agent", yes), step: StepHold, id: "operation-0-1", replaced: true},
		"afterDone":         {reason: "and when it has run, this one is sent", app: asking(one, ""), claim: op, work: work("operation-0-1", "operation-0-1", "", yes), step: StepSend, id: op},
		"afterRefused":      {reason: "or could not be applied", app: asking(one, ""), claim: op, work: work("operation-0-1", "", "", no), step: StepSend, id: op},
		"afterRefusedLater": {reason: "one that was applied once may be running, whatever was refused since", app: asking(one, ""), claim: op, work: work("operation-0-1", "operation-0-1", "agent", no), step: StepHold, id: "operation-0-1", replaced: true},
		"afterSeenAfterAll": {reason: "or of which the cluster says that it has seen it, away or not", app: asking(one, ""), claim: op, work: work("operation-0-1", "operation-0-1", "agent", yes), unseen: true, step: StepHold, id: "operation-0-1", replaced: true},
		"afterUnseen":       {reason: "or waits for a cluster that is away", app: asking(one, ""), claim: op, work: work("operation-0-1", "", "", yes), unseen: true, step: StepSend, id: "operation-0-1", replaced: true},
		"earlierVersion":    {reason: "a claim without a hash is taken for what is there", app: asking(one, ""), claim: "operation-0123456789", work: work("operation-0123456789", "operation-0123456789", "", yes), step: StepFinish, id: "operation-0123456789", done: []string{KindOperation}},
	} {
		t.Run(name, func(t *testing.T) {
			got := PlanFor(c.app, c.work, Known{Claim: c.claim, Unseen: c.unseen})
			if got.Step != c.step || got.Request.ID != c.id || got.Replaced != c.replaced || !slices.Equal(got.Done, c.done) {
				t.Errorf("%s: got %+v", c.reason, got)
			}
		})
	}
	if again := claimFor(two, ""); strings.HasSuffix(again, op[strings.LastIndex(op, "-"):]) {
		t.Errorf("%s does not tell the operations apart", again)
	}
}

func TestNeverSeen(t *testing.T) {
	silentAt := time.Date(2026, 11, 20, 12, 5, 0, 0, time.UTC)
	cluster := func(status metav1.ConditionStatus, lease int32) *clusterv1.ManagedCluster {
		c := &clusterv1.ManagedCluster{Spec: clusterv1.ManagedClusterSpec{LeaseDurationSeconds: lease}}
		if status != "" {
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, LastTransitionTime: metav1.NewTime(silentAt)}}
		}
		return c
	}
	for name, c := range map[string]struct {
		reason  string
		cluster *clusterv1.ManagedCluster
		made    time.Duration // before the cluster became unavailable
		want    bool
	}{
		"available":    {reason: "it is there", cluster: cluster(metav1.ConditionTrue, 60)},
		"unhealthy":    {reason: "its agent is there and says that it is not well", cluster: cluster(metav1.ConditionFalse, 60)},
		"never":        {reason: "it has never been there", cluster: cluster("", 60), made: time.Hour, want: true},
		"after":        {reason: "what was asked for after it was called silent", cluster: cluster(metav1.ConditionUnknown, 60), made: -time.Minute, want: true},
		"inGrace":      {reason: "or while its leases ran out", cluster: cluster(metav1.ConditionUnknown, 60), made: 3 * time.Minute, want: true},
		"before":       {reason: "but not while it renewed them", cluster: cluster(metav1.ConditionUnknown, 60), made: 5 * time.Minute},
		"longLease":    {reason: "a longer lease runs out later", cluster: cluster(metav1.ConditionUnknown, 600), made: 39 * time.Minute, want: true},
		"defaultLease": {reason: "without one OCM takes a minute", cluster: cluster(metav1.ConditionUnknown, 0), made: 3 * time.Minute, want: true},
		"defaultLong":  {reason: "and no more", cluster: cluster(metav1.ConditionUnknown, 0), made: 5 * time.Minute},
	} {
		if got := NeverSeen(c.cluster, silentAt.Add(-c.made)); got != c.want {
			t.Errorf("%s: %s: got %t", name, c.reason, got)
		}
	}
}

// A user terminates the operation that the hub's status shows. propagation does not terminate another
// operation that runs on the cluster by then.
func TestPlanFor_terminatesTheOperationThatIsMeant(t *testing.T) {
	const operation = `{"sync":{"revision":"one"}}`
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "0123456789abcdef", ResourceVersion: "1"}, Operation: json.RawMessage(operation)}
	claim := newClaim(app, wantedKinds(app))
	work := sentWork(claim, claim, argocd.OperationRunning, "2026-11-20T10:00:00Z")
	for startedAt, want := range map[string]bool{"2026-11-20T10:00:00Z": true, "2026-11-20T09:59:00Z": false, "": true} {
		app.Status = json.RawMessage(`{"operationState":{"phase":"Terminating","startedAt":"` + startedAt + `"}}`)
		p := PlanFor(app, work, Known{Claim: claim})
		if got := strings.HasSuffix(p.Request.ID, terminateSuffix); got != want {
			t.Errorf("the hub's status is of the operation of %q: terminated %t, want %t (%+v)", startedAt, got, want, p)
		}
	}
}

// Argo CD may overwrite a termination with the state that it writes at that moment. The agent does not apply
// the same request again. If the operation still runs, propagation sends the termination with another ID.
func TestPlanFor_terminatesAgain(t *testing.T) {
	const operation, started = `{"sync":{"revision":"one"}}`, "2026-11-20T10:00:00Z"
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "0123456789abcdef", ResourceVersion: "1"}, Operation: json.RawMessage(operation),
		Status: json.RawMessage(`{"operationState":{"phase":"Terminating","startedAt":"` + started + `"}}`),
	}
	claim := newClaim(app, wantedKinds(app))
	for name, c := range map[string]struct {
		sent, applied, phase string
		want                 string
		step                 Step
	}{
		"not seen yet":         {claim + "/terminate", claim, argocd.OperationRunning, claim + "/terminate", StepHold},
		"under way":            {claim + "/terminate", claim + "/terminate", argocd.OperationTerminating, claim + "/terminate", StepHold},
		"overwritten":          {claim + "/terminate", claim + "/terminate", argocd.OperationRunning, claim + "/terminate2", StepSend},
		"the next not seen":    {claim + "/terminate2", claim + "/terminate", argocd.OperationRunning, claim + "/terminate2", StepHold},
		"overwritten again":    {claim + "/terminate2", claim + "/terminate2", argocd.OperationRunning, claim + "/terminate3", StepSend},
		"the next under way":   {claim + "/terminate3", claim + "/terminate3", argocd.OperationTerminating, claim + "/terminate3", StepHold},
		"first one was enough": {claim + "/terminate2", claim + "/terminate", argocd.OperationTerminating, claim + "/terminate2", StepHold},
	} {
		p := PlanFor(app, sentWork(c.sent, c.applied, c.phase, started), Known{Claim: claim})
		if p.Request.ID != c.want || p.Step != c.step || (c.step == StepSend) != (p.Request.StartedAt == started) {
			t.Errorf("%s: %+v, want %s by step %d", name, p, c.want, c.step)
		}
	}
}

// sentWork returns a work that carries a request, with a report of the applied request and its operation.
func sentWork(sent, applied, phase, startedAt string) *manifestcache.Work {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 3, Annotations: map[string]string{contract.RequestAnnotation: sent}}}
	m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural}}
	for name, value := range map[string]string{
		contract.FeedbackRequest: applied, contract.FeedbackOperationOwner: "sync",
		contract.FeedbackOperationPhase: phase, contract.FeedbackOperationStartedAt: startedAt,
	} {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	m.Conditions = []metav1.Condition{{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, ObservedGeneration: 3}}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	work, _ := manifestcache.Compact(w, nil)
	return work
}
