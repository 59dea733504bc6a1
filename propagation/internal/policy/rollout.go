// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// RolloutAct is what a rollout lets become of a ManifestWork.
type RolloutAct int

// Acts.
const (
	// RolloutDeliver: it gets what the hub says.
	RolloutDeliver RolloutAct = iota
	// RolloutHold: it stays as it is, or is not made yet.
	RolloutHold
	// RolloutRestore: it gets what it had before it was given the candidate.
	RolloutRestore
)

// RolloutDecision is what may become of the work of an Application under a rollout.
type RolloutDecision struct {
	Act RolloutAct
	// Carried is what the work carries then; nil for [RolloutHold] and where nothing is rolled out.
	Carried *rollout.Carried
	// Changes: it is given the candidate in the place of another content, of which a note is to be
	// made.
	Changes bool
	// Stored: the work carries the promoted content now, pinned to other revisions.
	Stored bool
	// Version is the promoted one, of which rollout: numbers begin again with another. "" for none.
	Version string
	// Waits says why it is held.
	Waits string
}

// DecideRollout returns what the current work of an Application, nil for none, may carry.
// Deletions, refusals and pauses come before it.
func DecideRollout(in Inputs, current *manifestcache.Work) RolloutDecision {
	r := in.Rollout
	if r == nil || payload.Observes(in.Application) {
		return RolloutDecision{}
	}
	cluster := in.Application.Annotations[contract.ClusterAnnotation]
	g := r.Status.Grant(cluster)
	if g.Allow == rollout.AllowAll {
		return RolloutDecision{}
	}
	content, carried := rollout.Content(in.Application), rollout.Carried{}
	if current != nil {
		carried = payload.Carries(in.Application, current, content)
	}
	d := RolloutDecision{Act: RolloutHold, Version: version(r, g.Number), Waits: r.Waits(cluster)}
	switch g.Allow {
	case rollout.AllowHub, rollout.AllowJoin:
		d.deliverIf(slices.Contains(g.Contents, content))
	case rollout.AllowCarried:
		// Before anything is promoted, what runs is not held: it was delivered without a rollout.
		d.deliverIf(current != nil && (carried.Content == content || carried.Content == "" && g.Number == 0))
	case rollout.AllowPromoted:
		d.goBack(g, content, carried, current != nil)
	default:
	}
	if d.Act == RolloutDeliver {
		d.Changes = g.Allow == rollout.AllowHub && carried.Content != "" && carried.Content != content
		if why := unpinnable(in.Application.Spec, g.Revisions); why != "" {
			d.Act, d.Waits = RolloutHold, "not delivered under rollout "+r.Name+": "+why
		}
	}
	if d.Act != RolloutHold {
		d.Carried = &rollout.Carried{Content: content, Revisions: g.Revisions}
	}
	return d
}

func version(r *rollout.ApplicationSetRollout, number int64) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d", r.UID, number)
}

func (d *RolloutDecision) deliverIf(may bool) {
	if may {
		d.Act = RolloutDeliver
	}
}

// goBack decides about a work that is to carry what is promoted, which the hub may say or not.
func (d *RolloutDecision) goBack(g rollout.Grant, content string, carried rollout.Carried, there bool) {
	switch {
	case slices.Contains(g.Contents, content):
		d.Act = RolloutDeliver
	case !there:
	case !slices.Contains(g.Contents, carried.Content):
		d.Act = RolloutRestore
	case !slices.Equal(carried.Revisions, g.Revisions):
		d.Act, d.Stored = RolloutRestore, true
	}
}

// unpinnable says why a spec cannot be pinned to revisions, "" when it can.
func unpinnable(spec json.RawMessage, revisions []string) string {
	sources, _, err := rollout.Sources(spec)
	switch {
	case err != nil:
		return err.Error()
	case len(revisions) > 0 && len(revisions) != len(sources):
		return fmt.Sprintf("spec has %d sources, and %d revisions are promoted", len(sources), len(revisions))
	}
	return ""
}

// Hold is the decision about an Application that waits for a rollout.
func (d RolloutDecision) Hold() Decision {
	return *refuseAsWarning(ReasonRolloutWaits, "%s", d.Waits)
}
