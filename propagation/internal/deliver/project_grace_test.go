// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// What a decision has found ends a grace period; what a tenant can make it say does not.
func TestGracesByDecision(t *testing.T) {
	begin := time.Unix(1000, 0)
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", Annotations: map[string]string{contract.ClusterAnnotation: "one"}}}
	refused := func(reason string, keep bool) policy.Decision {
		return policy.Decision{Refusal: policy.Message{Reason: reason}, Keep: keep}
	}
	for name, c := range map[string]struct {
		reason           string
		bound            bool
		decision         policy.Decision
		binding, project bool // goes on
	}{
		"delivered": {reason: "nothing is missing", bound: true, decision: policy.Decision{Deliver: true}},
		"slip":      {reason: "a slip is looked at when all else is there", bound: true, decision: refused(policy.ReasonInvalidTarget, true)},
		"project":   {reason: "the binding is there", bound: true, decision: refused(policy.ReasonProjectDenied, false), project: true},
		"unbound":   {reason: "who names another cluster gains no time for the project", decision: refused(policy.ReasonNotBound, false), binding: true, project: true},
		"namespace": {reason: "nor who asks for another namespace", bound: true, decision: refused(policy.ReasonNamespaceDenied, false), project: true},
	} {
		t.Run(name, func(t *testing.T) {
			var g gracePeriods
			key := client.ObjectKeyFromObject(app)
			for _, what := range []string{applicationGone, "one", projectPermission} {
				g.missing(key, what, begin)
			}
			g.decided(app, policy.Inputs{Bound: c.bound}, c.decision)
			for what, goesOn := range map[string]bool{applicationGone: false, "one": c.binding, projectPermission: c.project} {
				if got := g.missing(key, what, begin.Add(time.Minute)) > 0; got != goesOn {
					t.Errorf("%s: the grace of %q goes on: %t", c.reason, what, got)
				}
			}
		})
	}
}

// A project that is made again, or takes the namespace again, within the grace costs
// nothing.
func TestProjectGrace(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *argocd.AppProject){
		"edited": func(t *testing.T, project *argocd.AppProject) {
			edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("others") })
		},
		"deleted": func(t *testing.T, project *argocd.AppProject) { remove(t, project) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, argo := newPlace(t), argoCD(t)
			project := func() *argocd.AppProject {
				return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "platform"}, Spec: sourceSpec("team-*")}
			}
			running := start(t, func(o *Options) {
				o.ArgoCDNamespace, o.BindingGrace = argo.namespace, time.Hour
				o.AppNamespaces = policy.AppNamespaces{{Hub: "team-*", Target: "gitops"}}
			})
			first := project()
			argo.create(first)
			app := p.deploy("guestbook", projectIs("platform"), into("gitops"))
			work := delivered(t, app, p.cluster)
			lose(t, first)
			says(t, app, policy.ErrorCondition, "--binding-grace")
			remove(t, first)
			argo.create(project())
			says(t, app, policy.ErrorCondition, "")
			if after := delivered(t, app, p.cluster); after.UID != work.UID {
				t.Error("the copy was replaced")
			}
			for _, request := range running.requests.in(p.cluster) {
				if strings.HasPrefix(request, "DELETE") {
					t.Errorf("propagation sent %s", request)
				}
			}
		})
	}
}
