// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
)

// Our patterns permit the same namespaces for the Applications of a project as Argo CD.
func TestSourceNamespaces_matchLikeArgoCD(t *testing.T) {
	namespaces := []string{"team", "team-a", "team-b", "my-team-a", "kube-system", "a", "1", "x-0"}
	for _, one := range []string{
		"team-a", "*", "team-*", "*-a", "t?am", "team-[ab]", "team-[!a]", "team-[a-z]", "{team-a,a}", "team{,-a}", "**", "!team-a", "", " ", "team-a ", "[", "{", "\\*", "te\\am",
		"/team/", "/^team-(a|b)$/", "/^((?!kube).)*$/", "/^team-\\w$/", "/(/", "//", "/^$/", "/TEAM/", "/(?i)TEAM/", "/^[[:alpha:]]+$/", "/^(?<n>t)eam$/", "/a", "a/", "///",
	} {
		project := v1alpha1.AppProject{Spec: v1alpha1.AppProjectSpec{SourceNamespaces: []string{"nobody", one}}}
		for _, namespace := range namespaces {
			theirs := project.IsAppNamespacePermitted(&v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}, "argocd")
			if ours := pattern.Any(project.Spec.SourceNamespaces, namespace); ours != theirs {
				t.Errorf("%q and namespace %q: we say %t, Argo CD %t", one, namespace, ours, theirs)
			}
		}
	}
}
