// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Names of the feedback values.
const (
	feedbackDigest     = "digest"
	feedbackReady      = "readyReplicas"
	feedbackUpdated    = "updatedReplicas"
	feedbackReplicas   = "replicas"
	feedbackObserved   = "observedGeneration"
	feedbackGeneration = "generation"
	feedbackPhase      = "phase"

	// notAvailable is the work agent's reason for an object that is not there.
	notAvailable = "ResourceNotAvailable"
	// phaseAvailable is the operator's word for an ArgoCD that runs.
	phaseAvailable = "Available"
)

// progressDeadline is how long a delivery may take before it counts as failed: a pull of
// images, and a restart on a busy node.
const progressDeadline = 10 * time.Minute

// Phase is how far one managed cluster is.
type Phase string

// Phases.
const (
	// PhaseAbsent: there is no work yet.
	PhaseAbsent Phase = "Absent"
	// PhaseLooking: whether there is another Argo CD is not known yet.
	PhaseLooking Phase = "Looking"
	// PhaseFound: there is another Argo CD.
	PhaseFound Phase = "AlreadyThere"
	// PhaseOutdated: what is wanted is not delivered; [State.First] if nothing is.
	PhaseOutdated Phase = "Outdated"
	// PhaseProgressing: it is delivered, and does not run yet.
	PhaseProgressing Phase = "Progressing"
	// PhaseFailed: it cannot be applied, or does not run in time.
	PhaseFailed Phase = "Failed"
	// PhaseReady: it runs.
	PhaseReady Phase = "Ready"
)

// State is what is known of the Argo CD of one managed cluster.
type State struct {
	Phase   Phase
	Message string
	// Deadline is when a delivery that is [PhaseProgressing] counts as failed.
	Deadline time.Time
}

// StateOf returns what is known from the work that there is; nil if there is none. digest is
// that of the work that is wanted.
func StateOf(w Wanted, work *workv1.ManifestWork, digest string, now time.Time) State {
	name := fmt.Sprintf("ManifestWork %s/%s", w.Cluster, WorkName)
	switch {
	case work == nil:
		return State{Phase: PhaseAbsent, Message: "it has not been looked whether the cluster has an Argo CD already"}
	case !work.DeletionTimestamp.IsZero():
		return State{Phase: PhaseLooking, Message: "an earlier delivery is being removed by the work agent (" + name + ")"}
	case work.Annotations[DigestAnnotation] == "":
		return looked(w, work, name)
	case work.Annotations[DigestAnnotation] != digest:
		return State{Phase: PhaseOutdated, Message: "another Argo CD is delivered than is wanted, until it is this cluster's turn"}
	}
	applied, failure := appliedAs(work)
	if failure != "" {
		return State{Phase: PhaseFailed, Message: "the work agent cannot apply " + name + ": " + failure +
			"; on a conflict, remove the field there, or set spec.argoCD.takeOver"}
	}
	if applied && running(w, work, digest) {
		return State{Phase: PhaseReady}
	}
	since, err := time.Parse(time.RFC3339, work.Annotations[SinceAnnotation])
	if err != nil {
		since = work.CreationTimestamp.Time
	}
	s := State{Phase: PhaseProgressing, Deadline: since.Add(progressDeadline), Message: fmt.Sprintf("Argo CD does not run yet in namespace %s there; look at its pods, and at the conditions of %s", w.Namespace, name)}
	if now.After(s.Deadline) {
		s.Phase, s.Message = PhaseFailed, fmt.Sprintf("Argo CD does not run in namespace %s there after %s; look at its pods", w.Namespace, progressDeadline)
	}
	return s
}

// looked reads a work that looks only. Nothing is there when the agent says so of each object.
func looked(w Wanted, work *workv1.ManifestWork, name string) State {
	looking := State{Phase: PhaseLooking, Message: "the work agent has not said yet whether the cluster has an Argo CD already; if this lasts, look at the conditions of " + name}
	applied, failure := appliedAs(work)
	if failure != "" {
		looking.Message = "the work agent cannot look whether the cluster has an Argo CD already: " + failure
	}
	var there []string
	for _, o := range others(w.Namespace) {
		manifest := agent.ManifestOf(work, identify(o))
		if manifest == nil {
			return looking
		}
		available := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestAvailable)
		switch {
		case available != nil && available.Status == metav1.ConditionTrue:
			there = append(there, o.GetKind()+" "+strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"))
		case available == nil || available.Status != metav1.ConditionFalse || available.Reason != notAvailable || !applied:
			return looking
		}
	}
	if len(there) > 0 && !w.TakeOver {
		return State{Phase: PhaseFound, Message: "the cluster has an Argo CD already (" + strings.Join(there, ", ") + "), which stays as it is; remove it, take the cluster out of the Placement, or set spec.argoCD.takeOver"}
	}
	return State{Phase: PhaseOutdated, Message: "nothing is delivered yet, until it is this cluster's turn"}
}

// running reports whether everything that was delivered runs, and nothing older.
func running(w Wanted, work *workv1.ManifestWork, digest string) bool {
	if w.Install == InstallOperator {
		text, _ := valuesOf(work, id(argoGroup, "argocds", w.Namespace, WorkName))
		return text[feedbackDigest] == digest && text[feedbackPhase] == phaseAvailable
	}
	for _, workload := range []workv1.ResourceIdentifier{
		id(appsGroup, "statefulsets", w.Namespace, controllerName), id(appsGroup, "deployments", w.Namespace, repoServerName), id(appsGroup, "deployments", w.Namespace, redisName),
	} {
		text, numbers := valuesOf(work, workload)
		replicas := numbers[feedbackReplicas]
		if text[feedbackDigest] != digest || numbers[feedbackGeneration] == 0 || numbers[feedbackObserved] != numbers[feedbackGeneration] ||
			replicas == 0 || numbers[feedbackUpdated] != replicas || numbers[feedbackReady] != replicas {
			return false
		}
	}
	return true
}

// Delivers reports whether a work has delivered an Argo CD of this kind to this namespace, as
// its agent says.
func Delivers(work *workv1.ManifestWork, install, namespace string) bool {
	delivered := id(appsGroup, "deployments", namespace, repoServerName)
	if install == InstallOperator {
		delivered = id(argoGroup, "argocds", namespace, WorkName)
	}
	return work.Annotations[DigestAnnotation] != "" && agent.ManifestOf(work, delivered) != nil
}

func valuesOf(work *workv1.ManifestWork, id workv1.ResourceIdentifier) (text map[string]string, numbers map[string]int64) {
	text, numbers = map[string]string{}, map[string]int64{}
	manifest := agent.ManifestOf(work, id)
	if manifest == nil {
		return text, numbers
	}
	for _, v := range contract.Clip(manifest.StatusFeedbacks.Values, contract.MaxValues, &contract.Rejected{}) {
		switch {
		case v.Value.Integer != nil:
			numbers[v.Name] = *v.Value.Integer
		case v.Value.String != nil:
			text[v.Name] = *v.Value.String
		}
	}
	return text, numbers
}

// appliedAs reports whether the agent has applied the work as it is now, and if it could not,
// in its own words why.
func appliedAs(work *workv1.ManifestWork) (applied bool, failure string) {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration != work.Generation {
		return false, ""
	}
	if c.Status == metav1.ConditionTrue {
		return true, ""
	}
	var failures []string
	early := false
	for _, manifest := range contract.Clip(work.Status.ResourceStatus.Manifests, contract.MaxManifests, &contract.Rejected{}) {
		m := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestApplied)
		if m == nil || m.Status == metav1.ConditionTrue || len(failures) >= contract.MaxFailures {
			continue
		}
		if r := manifest.ResourceMeta; r.Kind == "AppProject" {
			early = true // its definition and the right to apply it come by the same work
		} else {
			failures = append(failures, fmt.Sprintf("%s %s: %s", r.Kind, strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"), m.Message))
		}
	}
	if len(failures) == 0 && early {
		return false, ""
	}
	if len(failures) == 0 {
		failures = []string{c.Message}
	}
	return false, contract.Message(strings.Join(failures, "; "), &contract.Rejected{})
}
