// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// gracePeriods remembers since when something has been missing: what is gone for a moment
// only, as when a hub is restored or an object is made again, must not cost a deployment.
// What the Application's condition has recorded before a restart counts, too. Those of an
// Application are read and written by its own reconcile only, of which there is one at a time.
type gracePeriods struct {
	since sync.Map // of Applications, by name: map[string]time.Time, by what is missing
}

func (g *gracePeriods) of(app types.NamespacedName) map[string]time.Time {
	all, _ := g.since.Load(app)
	since, _ := all.(map[string]time.Time)
	return since
}

// What is missing when it is not the binding to the cluster of that name.
const (
	applicationGone   = ""         // the Application itself
	projectPermission = "/project" // the AppProject's, to Applications of the namespace
	slip              = "/"        // and the reason: what one wrong letter would cost
)

// mayComeBack returns what a refused Application is missing, if it may be about to come
// back: others grant it, or one wrong letter has taken it away. A cluster that is not named
// any more, or a label that is "false" or gone, is a wish.
func mayComeBack(app *argocd.Application, v policy.Decision) (what string, ok bool) {
	switch v.Refusal.Reason {
	case policy.ReasonNotBound:
		return app.Annotations[contract.ClusterAnnotation], true
	case policy.ReasonProjectDenied:
		return projectPermission, true
	case policy.ReasonUnknownCluster, policy.ReasonInvalidTarget, policy.ReasonInvalidLabel, policy.ReasonNamespaceDenied:
		return slip + v.Refusal.Reason, true
	}
	return "", false
}

// decided ends the grace periods of what a decision has found. A refusal for another
// reason says nothing of the project: a tenant must not gain time by one.
func (g *gracePeriods) decided(app *argocd.Application, in policy.Inputs, v policy.Decision) {
	key := client.ObjectKeyFromObject(app)
	g.found(key, applicationGone)
	if in.Bound {
		g.found(key, app.Annotations[contract.ClusterAnnotation])
	}
	if v.Deliver || v.Keep {
		g.granted(key)
	}
}

// missing notes that what an Application needs is missing and returns for how long
// it has been.
func (g *gracePeriods) missing(app types.NamespacedName, what string, now time.Time) time.Duration {
	since := g.of(app)
	if since == nil {
		since = map[string]time.Time{}
		g.since.Store(app, since)
	}
	if since[what].IsZero() {
		since[what] = now
	}
	return now.Sub(since[what])
}

// found ends a grace period.
func (g *gracePeriods) found(app types.NamespacedName, what string) {
	g.end(app, func(w string) bool { return w == what })
}

// granted ends the grace periods of all but bindings.
func (g *gracePeriods) granted(app types.NamespacedName) {
	g.end(app, func(what string) bool { return strings.HasPrefix(what, slip) })
}

func (g *gracePeriods) end(app types.NamespacedName, which func(what string) bool) {
	since := g.of(app)
	maps.DeleteFunc(since, func(what string, _ time.Time) bool { return which(what) })
	if len(since) == 0 {
		g.forget(app)
	}
}

// refusedFor returns for how long the Application's conditions have shown a refusal. Its
// tenant may write them: that can only shorten the tenant's own grace, and a time in the
// future counts as none.
func refusedFor(app *argocd.Application, v policy.Decision, now time.Time) time.Duration {
	conditions, err := appstatus.Conditions(app.Status)
	if err != nil {
		return 0
	}
	for _, c := range conditions {
		if isOurCondition(c.Type) && strings.HasPrefix(c.Message, v.Refusal.Text) && c.LastTransitionTime != nil {
			return max(0, now.Sub(c.LastTransitionTime.Time))
		}
	}
	return 0
}

// forget ends all grace periods of an Application.
func (g *gracePeriods) forget(app types.NamespacedName) { g.since.Delete(app) }
