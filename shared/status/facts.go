// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"cmp"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Facts is what a ManifestWork says by itself, whatever the state of its cluster:
// small enough to keep one for every work of a fleet, and all that is needed when
// only the cluster changes.
type Facts struct {
	reported Observation // as the managed cluster reports it
	// seen: the agent has tried to apply the current change.
	seen bool
	// failure is why it could not, empty when it could.
	failure string
	// unreadable is why the agent cannot read the Application, empty when it can.
	unreadable string
}

// Read returns the facts of a ManifestWork, which may be trimmed to what [Trim]
// keeps and is not changed. Everything is bounded as in [Trim].
func Read(work *workv1.ManifestWork) Facts {
	f := Facts{reported: Observation{
		Health: argocd.HealthUnknown,
		Sync:   argocd.SyncUnknown,
		Work:   work.UID,
	}}
	manifest := application(work)
	if manifest != nil {
		f.reported.read(manifest)
	}
	if c := unreadable(manifest); c != nil {
		f.unreadable = reason(c.Message, c.Reason)
	}
	applied := condition(work.Status.Conditions, workv1.WorkApplied)
	f.seen = applied != nil && applied.ObservedGeneration >= changeGeneration(work)
	if f.seen && applied.Status == metav1.ConditionFalse {
		f.failure = reason(applyFailures(work, applied), applied.Reason)
	}
	return f
}

// reason returns the agent's words, or what stands for them.
func reason(message, reason string) string {
	var ignored contract.Rejected
	return cmp.Or(contract.Message(message, &ignored), contract.Token(reason, &ignored), "no reason given")
}

// Observe returns what can be said about the Application while its cluster is in
// the given state.
func (f *Facts) Observe(cluster Cluster) Observation {
	o := f.reported
	switch {
	case !cluster.Available:
		o.Reason, o.Message = ClusterUnreachable, unreachable(&o, cluster)
		o.unknown("last known health:")
		o.Sync = argocd.SyncUnknown
	case f.failure != "":
		o.Reason, o.Message = ApplyFailed, "cluster "+cluster.Name+" could not apply the last change: "+f.failure
		o.unknown("health before that change:")
		if o.Reported {
			o.Sync = argocd.SyncOutOfSync
		}
	case o.Reported && !f.seen:
		o.Reason, o.Message = ChangePending, "cluster "+cluster.Name+pendingWords
		o.Health, o.HealthMessage, o.Sync = argocd.HealthProgressing, o.Message, argocd.SyncOutOfSync
	case f.unreadable != "":
		o.Reason, o.Message = ApplicationUnreadable, "cluster "+cluster.Name+": "+f.unreadable+lastWords(&o)
		o.unknown("last known health:")
		o.Sync = argocd.SyncUnknown
	}
	return o
}

const pendingWords = " has not reported on the last change yet"

// ShowsPending reports whether the status of a hub Application, as JSON, is that of a
// [ChangePending] or [ChangeUndelivered].
func ShowsPending(status []byte) bool {
	return bytes.Contains(status, []byte(pendingWords)) || bytes.Contains(status, []byte(`"`+undeliveredCondition+`"`))
}

// Repeats reports whether the managed cluster has reported nothing since the facts before:
// every text and every time is the same, and it is the same ManifestWork.
func (f *Facts) Repeats(before *Facts) bool { return reflect.DeepEqual(f.reported, before.reported) }

// Intern replaces the strings that many Applications are likely to share by equal
// ones; times are none of them.
func (f *Facts) Intern(intern func(string) string) {
	r := &f.reported
	for _, s := range []*string{
		&r.Health, &r.Sync, &r.HealthMessage, &r.Revision, &r.Operation.Phase, &r.Operation.Message, &f.failure, &f.unreadable,
	} {
		*s = intern(*s)
	}
	for i := range r.Conditions {
		r.Conditions[i].Type, r.Conditions[i].Message = intern(r.Conditions[i].Type), intern(r.Conditions[i].Message)
	}
}

// Work returns what can be said about the Application that a ManifestWork
// carries. The work may be trimmed to what [Trim] keeps; it is not changed.
// cluster is the one that the work is for.
func Work(work *workv1.ManifestWork, cluster Cluster) Observation {
	facts := Read(work)
	return facts.Observe(cluster)
}
