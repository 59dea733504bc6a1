// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// how returns how the work has to end.
func (s *subject) how() payload.Ending {
	app, why := s.facts.Application, s.fate.Why
	mark := s.mark()
	switch {
	case s.shared, why == Renamed: // another copy tracks the same resources: neither orphan nor cascade
		return payload.Ending{}
	case mark.Orphans():
		e := payload.Ending{Orphan: true, BySet: mark == payload.BySet, WithoutAutomation: ChangeOf(why) == Revoke}
		paused := s.work.Annotations[contract.PausedAnnotation] != ""
		e.Resume = paused && !e.WithoutAutomation && app != nil && s.paused(Deliver).Mode != policy.PauseSync
		return e
	case app != nil:
		return payload.Ending{Finalizers: payload.DeliveredFinalizers(app)}
	}
	return payload.Ending{}
}

// reduced returns the ending of a work that lost a permission. The hub may refuse the ending because
// it exceeds the limit of a ManifestWork, and the cluster because of the spec. No tenant may prevent
// the removal with such a spec. If the ending is too large, or the agent has refused it for a grace
// period, the ending is reduced, and stays so.
func (s *subject) reduced(e payload.Ending) payload.Ending {
	w := s.work
	if w.Live == nil || w.Missing || ChangeOf(s.fate.Why) != Revoke || !leaves(e) || !payload.Reducible(&w.Live.Spec) {
		return e
	}
	less := e
	less.Finalizers, less.Reduced = nil, true // Argo CD cannot run hooks without the source
	_, written, err := payload.EndingOf(w.Live, less)
	switch {
	case err != nil:
		return e
	case written:
		return less
	}
	applied := meta.FindStatusCondition(w.Live.Status.Conditions, workv1.WorkApplied)
	spec, written, err := payload.EndingOf(w.Live, e)
	switch {
	case err != nil:
		return e
	case payload.Size(spec) > max(s.facts.Settings.SizeLimit, payload.Size(&w.Live.Spec)):
		return less
	case !written || w.Applied != metav1.ConditionFalse || applied == nil:
		return e
	}
	refused := s.facts.Now.Sub(earlier(applied.LastTransitionTime.Time, s.facts.Now))
	if left := s.facts.Settings.BindingGrace - refused; left > 0 {
		s.plan.again(left)
		return e
	}
	return less
}

// leaves reports whether something stays on the cluster that the agent or Argo CD would remove
// without the ending.
func leaves(e payload.Ending) bool {
	return e.Orphan || !slices.ContainsFunc(e.Finalizers, contract.IsCascading)
}

// next returns the next step of the removal, and the event that it waits for. Facts from the cache
// have no spec. With those facts, the work counts as a work without its ending.
func (s *subject) next() (Step, Wait) {
	w, e := s.work, s.fate.How
	if s.shared {
		return StepDelete, Wait{}
	}
	f := stepFacts{
		ClusterLeaving: !w.Cluster.Exists || w.Cluster.Leaving, Observes: s.observes(), Finalized: w.Finalized, Missing: w.Missing,
		Leaves: leaves(e), Abandoned: s.abandoned(), Applied: w.Applied,
	}
	var proof payload.Proof
	if w.Live != nil {
		_, written, err := payload.EndingOf(w.Live, e)
		if err != nil && nextStep(f) != StepDelete {
			return StepWait, waitFor(WaitsForSpec, "the ManifestWork cannot be decoded: %v; correct it, and do not delete it: the cluster would prune what it delivered", err)
		}
		proof = payload.ProofOf(w.Live, e)
		f.Written, f.Proven = written, proof.Done()
	}
	step := nextStep(f)
	if step == StepDelete {
		return step, Wait{}
	}
	return step, s.waitsFor(f, proof)
}

// waitsFor returns why the agent has not applied the ending of a work. OCM's agent writes the cause of
// a refusal into the conditions of the manifests, and only a constant into the condition of the work.
func (s *subject) waitsFor(f stepFacts, proof payload.Proof) Wait {
	switch {
	case f.Written && f.Applied == metav1.ConditionFalse:
		return Wait{For: WaitsForRefusal, Text: s.work.Facts.Failure()}
	case f.Written && f.Applied == metav1.ConditionTrue && proof.Finalizer != "":
		return waitFor(WaitsForFinalizer,
			"Application %s on cluster %q has finalizer %s of another field manager, with which Argo CD would prune what is to stay: remove it there, and the ManifestWork goes",
			payload.DeliveredBy(&s.work.Live.Spec), s.work.Namespace, proof.Finalizer)
	case f.Written && f.Applied == metav1.ConditionTrue && proof.Manager != "":
		return waitFor(WaitsForAutomation,
			"Application %s on cluster %q has spec.syncPolicy.automated of field manager %s, with which it would go on syncing: remove it there, and the ManifestWork goes",
			payload.DeliveredBy(&s.work.Live.Spec), s.work.Namespace, contract.Token(proof.Manager, &contract.Rejected{}))
	}
	return Wait{For: WaitsForAgent}
}

// waitFor returns a Wait with a bounded text. An agent may write the names and manifests in it.
func waitFor(cause, format string, args ...any) Wait {
	return Wait{For: cause, Text: contract.Message(fmt.Sprintf(format, args...), &contract.Rejected{})}
}
