// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

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
