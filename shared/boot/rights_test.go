// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Watchable leaves out a namespace without a Role, or with a Role that lacks a verb, and logs its name. It
// always keeps the first namespace.
func TestWatchable_leavesOutNamespacesWithoutRights(t *testing.T) {
	const user = "watchable"
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for namespace, verbs := range map[string][]string{"rights-none": nil, "rights-all": {"list", "watch"}, "rights-half": {"list"}} {
		_, err := api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if len(verbs) > 0 {
			meta := metav1.ObjectMeta{Name: user}
			_, err2 := api.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs}}}, metav1.CreateOptions{})
			_, err3 := api.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
			}, metav1.CreateOptions{})
			err = errors.Join(err, err2, err3)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = user
	var lines []string
	env := &Env{Config: as, Log: funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})}

	got, err := env.Watchable(ctx, Names{"rights-none", "rights-all", "rights-half", "rights-absent"}, metav1.GroupResource{Resource: "secrets"})
	if want := (Names{"rights-none", "rights-all"}); err != nil || !slices.Equal(got, want) {
		t.Errorf("watchable are %q, want %q: %v", got, want, err)
	}
	if len(lines) != 2 {
		t.Errorf("want a line for each that is left out: %q", lines)
	}
	if got, err := env.Watchable(ctx, Names{"rights-none"}, metav1.GroupResource{Resource: "secrets"}); err != nil || len(got) != 1 {
		t.Errorf("one alone is kept: %q, %v", got, err)
	}
}
