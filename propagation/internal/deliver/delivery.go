// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// applyResult is what came of writing a work.
type applyResult struct {
	name     string
	warnings []policy.Message
}

// notApplied returns what becomes of an Application whose work could not be written: one
// that the API server rejects is refused, the rest is tried again. what begins the message.
func notApplied(what string, current *manifestcache.Work, err error) (result, error) {
	switch {
	case current != nil && apierrors.IsNotFound(err):
		return result{silent: true, after: afterConflict}, nil // deleted a moment ago: its event is on the way
	case isRejected(err):
		errorsTotal.WithLabelValues(errorKind(err)).Inc()
		return result{after: afterRefusal, decision: policy.Refuse(policy.ReasonRefused, "%s: the API server refused the ManifestWork: %v", what, err)}, nil
	}
	return result{}, err
}

// How long to wait before another look, by what is waited for. Changes of what we
// watch are seen at once; these are for the rest.
const (
	afterConflict = boot.ConflictDelay // another controller wrote first; the cache will have it
	afterUnseen   = 5 * time.Second    // a work that the cache does not have
	afterPending  = time.Minute        // an agent to apply how a work ends; its event comes first
	afterMirror   = 10 * time.Second   // the hub's status to say what a refresh has found
	afterRefusal  = 30 * time.Second   // an admission webhook or a missing namespace may come round
)

// sooner returns the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// afterUncached returns when to look again at works of which an end is awaited: one without
// the label has no event. 0 when all have it.
func afterUncached(works ...*manifestcache.Work) time.Duration {
	for _, work := range works {
		if work.Labels[contract.PullLabel] != "true" {
			return afterUnseen
		}
	}
	return 0
}

// Reasons of withdrawals that are no refusals, as in metrics.
const (
	withdrawnGone       = "ApplicationGone"
	withdrawnRetargeted = "Retargeted"
	withdrawnReplaced   = "Replaced"
)

// result is what a pass over an Application comes to. Every path returns one, and
// [Reconciler.complete] does the rest.
type result struct {
	// decision goes into the Application's conditions, unless silent.
	decision policy.Decision
	silent   bool
	// delivered: the wanted work is on the hub, and what an earlier wish left behind may go.
	delivered bool
	// standing are works that stay as they are, but for their AppProjects.
	standing []*manifestcache.Work
	// after is when to look again, 0 for not by the clock.
	after time.Duration
}

// waitFor is the result that waits for a terminating work.
func waitFor(work *manifestcache.Work) result {
	return result{after: afterUncached(work), decision: policy.Refuse(policy.ReasonWaitingForOld,
		"not delivered yet: cluster %q has not finished removing the earlier copy (ManifestWork %s)", work.Namespace, work.Name)}
}
