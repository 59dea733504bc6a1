// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// Work returns what can be said about the Application that a ManifestWork
// carries. The work may be trimmed to what [Trim] keeps; it is not changed.
// cluster is the one that the work is for.
func Work(work *workv1.ManifestWork, cluster Cluster) Observation {
	facts := Read(work)
	return facts.Observe(cluster)
}

// read takes over what the agent reported of the Application.
func (o *Observation) read(manifest *workv1.ManifestCondition) {
	f, reported := wire.ParseFeedback(manifest.StatusFeedbacks.Values)
	if !reported {
		return
	}
	o.Reported = true
	o.HealthMessage, o.Revision, o.Conditions = f.HealthMessage, f.Revision, f.Conditions
	if f.Health != "" {
		o.Health = f.Health
	}
	if f.Sync != "" {
		o.Sync = f.Sync
	}
	o.Operation = whole(f.Operation)
	o.LastHeard = lastHeard(manifest, f.ReconciledAt)
	if o.Sync == argocd.SyncUnknown {
		o.unknown("not compared with its source; before that it was")
	}
}

// whole returns a whole operation or none: Argo CD writes one without a phase
// at times, and is about to write the rest. Times that are none are not times.
func whole(f wire.OperationFeedback) wire.OperationFeedback {
	if f.Phase == "" || !isTime(f.StartedAt) {
		return wire.OperationFeedback{}
	}
	if !isTime(f.FinishedAt) {
		f.FinishedAt = ""
	}
	return f
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// unknown gives up a health that is no longer known, and says what it was.
func (o *Observation) unknown(was string) {
	if o.Health == argocd.HealthUnknown {
		return
	}
	message := was + " " + o.Health
	if o.HealthMessage != "" {
		message += ": " + o.HealthMessage
	}
	o.Health, o.HealthMessage = argocd.HealthUnknown, message
}

// application finds the Application in a work's status by what it is.
func application(work *workv1.ManifestWork) *workv1.ManifestCondition {
	name := work.Annotations[wire.HubNameAnnotation]
	manifests := work.Status.ResourceStatus.Manifests
	for i := range manifests {
		if r := &manifests[i].ResourceMeta; isApplication(r) && r.Name == name {
			return &manifests[i]
		}
	}
	return nil
}

func isApplication(r *workv1.ManifestResourceMeta) bool {
	return r.Group == argocd.Group && r.Resource == argocd.ApplicationPlural
}

// changeGeneration is the generation that the agent must have seen for its
// feedback to be about what we ask for.
func changeGeneration(work *workv1.ManifestWork) int64 {
	g, err := strconv.ParseInt(work.Annotations[wire.ChangeGenerationAnnotation], 10, 64)
	if err != nil || g < 1 || g > work.Generation {
		return work.Generation
	}
	return g
}

// unreadable returns the agent's condition when it cannot read the Application;
// the feedback next to it is then whatever it was before.
func unreadable(manifest *workv1.ManifestCondition) *metav1.Condition {
	if manifest == nil {
		return nil
	}
	if c := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestAvailable); c != nil && c.Status != metav1.ConditionTrue {
		return c
	}
	return nil
}

// lastHeard is the youngest time that the managed cluster wrote. The agent
// renews the time of its feedback condition whenever a value changes.
func lastHeard(manifest *workv1.ManifestCondition, reconciledAt string) time.Time {
	last, err := time.Parse(time.RFC3339, reconciledAt)
	if err != nil {
		last = time.Time{}
	}
	for i := range manifest.Conditions {
		if t := manifest.Conditions[i].LastTransitionTime.Time; t.After(last) {
			last = t
		}
	}
	return last.UTC()
}
