// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

const (
	kindOperation   = "operation"
	kindRefresh     = "refresh"
	terminateSuffix = "/terminate"
)

// step is what to do next about the request of an Application.
type step int

const (
	stepSend   step = iota // the work is to carry plan.request, which may be none
	stepClaim              // give the request an identity
	stepHold               // leave the Application in the work as it is: the managed cluster is at it
	stepFinish             // the request is done: remove plan.done and the claim
	stepDrop               // the request was taken back, or never sent: remove the claim
)

// plan says what to do about a request.
type plan struct {
	step    step
	request request
	// replaced: the hub has another operation or refresh by now than the work, whose
	// own is to be kept. It is next.
	replaced bool
	// done are the kinds of the request that leave the hub with it.
	done []string
}

// planRequest decides from the Application, its claim and the work that carries it,
// which may be nil. unseen tells that the managed cluster cannot have seen what was
// claimed, unless its feedback says that it has.
func planRequest(app *argocd.Application, claim string, work *workv1.ManifestWork, unseen bool) plan {
	wanted := wantedKinds(app)
	if claim == "" {
		if len(wanted) > 0 {
			return plan{step: stepClaim, request: request{ID: newClaim(app, wanted)}}
		}
		return plan{}
	}
	kinds := kindsOf(claim)
	same, gone := unchanged(app, claim)
	if gone[kindOperation] || len(gone) == len(kinds) {
		return plan{step: stepDrop, request: request{ID: claim}}
	}
	r := request{ID: claim}
	if slices.Contains(kinds, kindOperation) {
		r.Operation = app.Operation
	}
	if slices.Contains(kinds, kindRefresh) {
		r.Refresh = app.Annotations[argocd.RefreshAnnotation]
	}
	sent := ""
	if work != nil {
		sent = work.Annotations[wire.RequestAnnotation]
	}
	switch {
	case strings.TrimSuffix(sent, terminateSuffix) == claim:
		return planSent(app, r, sent, same, work, unseen)
	case len(same) < len(kinds):
		return plan{step: stepDrop, request: r} // nothing of it was sent
	}
	return planAfter(r, sent, work, unseen)
}

// planSent sees a request through that the work carries; same are the kinds of it that
// the hub still has.
func planSent(app *argocd.Application, r request, sent string, same []string, work *workv1.ManifestWork, unseen bool) plan {
	kinds := kindsOf(r.ID)
	changed := len(same) < len(kinds)
	heard := requestFeedback(work)
	switch {
	case heard.done(sent, kinds):
		return plan{step: stepFinish, request: r, done: same}
	case sent == r.ID && r.Operation != nil && terminating(app) && heard.running(sent):
		r.ID += terminateSuffix
		r.StartedAt = heard.startedAt
		return plan{request: r, replaced: changed}
	case heard.saw(sent):
	case notApplied(work):
		// The managed cluster refused it: a better one must not wait for it.
		if changed {
			return plan{step: stepDrop, request: r}
		}
		return plan{request: r}
	case unseen:
		r.ID = sent
		return plan{request: r, replaced: changed}
	}
	r.ID = sent
	return plan{step: stepHold, request: r, replaced: changed}
}

// planAfter sends a request to a work that may have an earlier one: that runs first,
// for Argo CD loses an operation that is put in the place of a running one.
func planAfter(r request, sent string, work *workv1.ManifestWork, unseen bool) plan {
	if sent == "" {
		return plan{request: r}
	}
	heard := requestFeedback(work)
	if heard.done(sent, kindsOf(sent)) || notApplied(work) && !heard.saw(sent) {
		return plan{request: r}
	}
	r.ID = sent
	if unseen && !heard.saw(sent) {
		return plan{request: r, replaced: true}
	}
	return plan{step: stepHold, request: r, replaced: true}
}

// wantedKinds returns what the hub Application asks for.
func wantedKinds(app *argocd.Application) []string {
	var kinds []string
	for _, kind := range []string{kindOperation, kindRefresh} {
		if contentOf(app, kind) != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// contentOf returns what the hub Application asks for of a kind, "" for nothing.
func contentOf(app *argocd.Application, kind string) string {
	switch {
	case kind == kindRefresh:
		return app.Annotations[argocd.RefreshAnnotation]
	case kind == kindOperation && string(app.Operation) != "null":
		return string(app.Operation)
	}
	return ""
}

// newClaim returns an identity that no other request of any Application has, with
// what is asked for by hash: "operation+refresh-<identity>-<hash>+<hash>". The
// resource version is the moment at which it was first seen.
func newClaim(app *argocd.Application, kinds []string) string {
	hashes := make([]string, len(kinds))
	for i, kind := range kinds {
		hashes[i] = shortHash(contentOf(app, kind))
	}
	return strings.Join(kinds, "+") + "-" + shortHash(string(app.UID)+"/"+app.ResourceVersion) + "-" + strings.Join(hashes, "+")
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:5])
}

func kindsOf(claim string) []string {
	kinds, _, _ := strings.Cut(claim, "-")
	return strings.Split(kinds, "+")
}

// unchanged returns the kinds of a claim of which the hub still has what was claimed,
// and those of which it has nothing any more. A claim without hashes, of an earlier
// version, is taken for what the hub has.
func unchanged(app *argocd.Application, claim string) (same []string, gone map[string]bool) {
	var hashes []string
	if parts := strings.Split(claim, "-"); len(parts) > 2 {
		hashes = strings.Split(parts[2], "+")
	}
	gone = map[string]bool{}
	for i, kind := range kindsOf(claim) {
		content := contentOf(app, kind)
		switch {
		case content == "":
			gone[kind] = true
		case i >= len(hashes) || hashes[i] == shortHash(content):
			same = append(same, kind)
		}
	}
	return same, gone
}

// claimMessage is what the condition says; its first word is the claim.
func claimMessage(claim, cluster string) string {
	return fmt.Sprintf("%s is with cluster %q; it leaves this Application when the cluster has run it", claim, cluster)
}

// claimOf returns the claim among an Application's conditions, or "", and when it was
// made, in whole seconds.
func claimOf(conditions []appstatus.Condition) (claim string, made time.Time) {
	for _, c := range conditions {
		if c.Type == ClaimCondition {
			claim, _, _ = strings.Cut(c.Message, " ")
			if c.LastTransitionTime != nil {
				made = c.LastTransitionTime.Time
			}
			return claim, made
		}
	}
	return "", time.Time{}
}

// neverSeen reports whether a managed cluster cannot have seen what was written to the
// hub after made: it has never been available, or it had fallen silent by then. The
// hub calls a cluster unknown when its agent has renewed no lease for five times the
// lease's duration (OCM's pkg/registration/hub/lease), so that one duration later it
// was certainly silent. One that was not is taken to have seen it, although it may not
// have come to say so: an operation that runs late is better than one that runs twice.
func neverSeen(cluster *clusterv1.ManagedCluster, made time.Time) bool {
	if cluster == nil {
		return false
	}
	c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	if c == nil {
		return true
	}
	if c.Status != metav1.ConditionUnknown {
		return false
	}
	lease := time.Duration(cluster.Spec.LeaseDurationSeconds) * time.Second
	if lease <= 0 {
		lease = time.Minute // OCM's default
	}
	return !made.Before(c.LastTransitionTime.Add(-4 * lease))
}

// silent reports whether a cluster's silence may let [neverSeen] say yes.
func silent(cluster *clusterv1.ManagedCluster) bool {
	c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
	return c == nil || c.Status == metav1.ConditionUnknown
}
