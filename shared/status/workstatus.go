// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// WorkStatus is the content of a ManifestWork's status, without the state of its cluster. It is
// small enough to keep one for every work of a fleet, and sufficient if only the cluster changes.
// The zero value is for a work without any report.
type WorkStatus struct {
	// texts are shared by all works with the same report.
	texts unique.Handle[texts]
	// revisions has the last compared revisions in the form of [list]. The revisions of the last
	// operation follow after a separator if they differ.
	revisions string
	// Times are in seconds, as in Kubernetes. 0 means none.
	startedAt, finishedAt, reportedAt int64
	// reconciledAt is next to the flags, where it needs no padding. A time before 1970 or after
	// 2105 counts as none.
	reconciledAt uint32
	// Applied is true if the agent has applied the present generation of the work.
	Applied bool
	// reported is true if the managed cluster has reported a status.
	reported bool
	// seen is true if the agent has tried to apply the present change.
	seen bool
	// synced is true if the last operation synced the revision that was last compared.
	synced bool
}

// texts are the values that many works have in common. All healthy works of an ApplicationSet have
// the same texts, and differ in revision and times.
type texts struct {
	health, healthMessage, sync, phase, operationMessage string
	// conditions has types and messages in turn, each followed by a separator that neither can
	// contain.
	conditions string
	// failure is why the agent could not apply the present change. unreadable is why it cannot read
	// the Application. Both are empty without a problem.
	failure, unreadable string
}

const separator = "\x00"

// Read returns the facts of a ManifestWork and does not change it. The work may be trimmed by
// [Trim]. All values have the same limits as there.
func Read(work *workv1.ManifestWork) WorkStatus {
	o := Nothing()
	manifest := application(work)
	if manifest != nil {
		o.read(manifest)
	}
	t := texts{
		health: o.Health, healthMessage: o.HealthMessage, sync: o.Sync,
		phase: o.Operation.Phase, operationMessage: o.Operation.Message,
	}
	for _, c := range o.Conditions {
		t.conditions += c.Type + separator + c.Message + separator
	}
	if c := unreadable(manifest); c != nil {
		t.unreadable = reason(c.Message, c.Reason)
	}
	f := WorkStatus{
		reported:  o.Reported,
		startedAt: seconds(o.Operation.StartedAt), finishedAt: seconds(o.Operation.FinishedAt),
	}
	if s := seconds(o.ReconciledAt); s == int64(uint32(s)) { //nolint:gosec // compared
		f.reconciledAt = uint32(s) //nolint:gosec // compared
	}
	if !o.ReportedAt.IsZero() {
		f.reportedAt = o.ReportedAt.Unix()
	}
	compared, operation := list(o.Revision, o.Revisions), list(o.OperationRevision, o.OperationRevisions)
	if f.revisions, f.synced = compared, compared == operation && compared != ""; !f.synced && operation != "" {
		f.revisions = compared + operationSeparator + operation
	}
	if len(o.Revisions) > 0 { // as the other Applications of its ApplicationSet have it
		f.revisions = unique.Make(f.revisions).Value()
	}
	applied := condition(work.Status.Conditions, workv1.WorkApplied)
	f.seen = applied != nil && applied.ObservedGeneration >= changeGeneration(work)
	f.Applied = applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration >= work.Generation
	if f.seen && applied.Status == metav1.ConditionFalse {
		t.failure = reason(applyFailures(work, applied), applied.Reason)
	}
	f.texts = unique.Make(t)
	return f
}

func (f *WorkStatus) shared() texts {
	if f.texts == (unique.Handle[texts]{}) {
		return texts{health: argocd.HealthUnknown, sync: argocd.SyncUnknown}
	}
	return f.texts.Value()
}

// Operation returns the last operation that the managed cluster has reported. Without a phase there
// is none.
func (f *WorkStatus) Operation() contract.OperationFeedback {
	t := f.shared()
	return contract.OperationFeedback{Phase: t.phase, StartedAt: text(f.startedAt), FinishedAt: text(f.finishedAt), Message: t.operationMessage}
}

// observation returns the observation that the managed cluster reports.
func (f *WorkStatus) observation() Observation {
	t := f.shared()
	o := Observation{
		Health: t.health, HealthMessage: t.healthMessage, Sync: t.sync,
		Operation: f.Operation(), ReconciledAt: text(int64(f.reconciledAt)), Reported: f.reported,
	}
	compared, operation, _ := strings.Cut(f.revisions, operationSeparator)
	if f.synced {
		operation = compared
	}
	o.Revision, o.Revisions = unlist(compared)
	o.OperationRevision, o.OperationRevisions = unlist(operation)
	if f.reportedAt != 0 {
		o.ReportedAt = time.Unix(f.reportedAt, 0).UTC()
	}
	for rest := t.conditions; rest != ""; {
		var c contract.Condition
		c.Type, rest, _ = strings.Cut(rest, separator)
		c.Message, rest, _ = strings.Cut(rest, separator)
		o.Conditions = append(o.Conditions, c)
	}
	return o
}

// operationSeparator cannot occur in a revision, like [separator].
const operationSeparator = "\x01"

// list encodes a revision, or the revisions of several sources with a separator after each one.
func list(revision string, revisions []string) string {
	if len(revisions) == 0 {
		return revision
	}
	return strings.Join(revisions, separator) + separator
}

// unlist decodes the result of list.
func unlist(text string) (revision string, revisions []string) {
	if several, ok := strings.CutSuffix(text, separator); ok {
		return "", strings.Split(several, separator)
	}
	return text, nil
}

// seconds parses a time in RFC 3339, and returns 0 for an empty one.
func seconds(text string) int64 {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return t.Unix()
}

// text returns the RFC 3339 text of a time in seconds.
func text(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return stamp(time.Unix(seconds, 0))
}

// reason returns the agent's message, or its reason if the message is empty.
func reason(message, reason string) string {
	var ignored contract.Rejected
	return cmp.Or(contract.Message(message, &ignored), contract.Token(reason, &ignored), "no reason given")
}

// Observe returns the observation of the Application for a state of its cluster.
func (f *WorkStatus) Observe(cluster Cluster) Observation {
	o, t := f.observation(), f.shared()
	switch {
	case !cluster.Available:
		o.Reason, o.Message = ClusterUnreachable, unreachable(&o, cluster)
		o.unknown("last known health:")
		o.Sync = argocd.SyncUnknown
	case t.failure != "":
		o.Reason, o.Message = ApplyFailed, "cluster "+cluster.Name+" could not apply the last change: "+t.failure
		o.unknown("health before that change:")
		if o.Reported {
			o.Sync = argocd.SyncOutOfSync
		}
	case o.Reported && !f.seen:
		o.Reason, o.Message = ChangePending, "cluster "+cluster.Name+pendingMessage
		o.Health, o.HealthMessage, o.Sync = argocd.HealthProgressing, o.Message, argocd.SyncOutOfSync
	case t.unreadable != "":
		o.Reason, o.Message = ApplicationUnreadable, "cluster "+cluster.Name+": "+t.unreadable+lastReport(&o)
		o.unknown("last known health:")
		o.Sync = argocd.SyncUnknown
	case !o.Reported && f.seen:
		o.HealthMessage = "Argo CD on cluster " + cluster.Name + " has reported nothing yet: check that it runs and watches the namespace of the Application"
	}
	return o
}

// Failure returns why the agent could not apply the present change, with the messages about the
// manifests, or "".
func (f *WorkStatus) Failure() string { return f.shared().failure }

// SameComparison reports whether earlier facts are about the same comparison of the managed
// cluster's Argo CD, by its time.
func (f *WorkStatus) SameComparison(before *WorkStatus) bool {
	return f.reconciledAt == before.reconciledAt
}

const pendingMessage = " has not reported on the last change yet"

// ShowsReason reports whether a hub Application's status, as JSON, shows a [Reason] instead of the
// managed cluster's report.
func ShowsReason(status []byte) bool {
	return bytes.Contains(status, []byte(pendingMessage)) || slices.ContainsFunc(reasonConditions, func(conditionType string) bool {
		return bytes.Contains(status, []byte(`"`+conditionType+`"`))
	})
}

// ShowsUnreachable reports whether that reason is [ClusterUnreachable].
func ShowsUnreachable(status []byte) bool {
	return bytes.Contains(status, []byte(`"`+string(ClusterUnreachable)+`Warning"`))
}

// Repeats reports whether Argo CD on the managed cluster has reported nothing new since earlier
// facts of the same ManifestWork: all its texts and times are equal. The times of the agent's
// conditions do not count, because they also change when the agent applies the work again.
func (f *WorkStatus) Repeats(before *WorkStatus) bool {
	a, b := f.shared(), before.shared()
	a.failure, a.unreadable, b.failure, b.unreadable = "", "", "", ""
	return a == b && f.reported == before.reported && f.revisions == before.revisions && f.synced == before.synced && f.startedAt == before.startedAt && f.finishedAt == before.finishedAt &&
		f.reconciledAt == before.reconciledAt
}
