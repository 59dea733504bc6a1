// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is a real API server. It also acts as the managed clusters.
var hub *rest.Config

func TestMain(m *testing.M) {
	code, err := withHub(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withHub(run func() int) (code int, err error) {
	config, stop, err := testkit.Start()
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	hub = config
	return run(), nil
}

// account creates a ServiceAccount and returns its token.
func account(t *testing.T, name string) string {
	t.Helper()
	accounts := kubernetes.NewForConfigOrDie(hub).CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// grant binds a ServiceAccount to a ClusterRole with rule, everywhere or in a namespace.
func grant(t *testing.T, name, namespace string, rule rbacv1.PolicyRule) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(hub).RbacV1()
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: "default"}}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	if _, err := client.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var err error
	if namespace == "" {
		_, err = client.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects}, metav1.CreateOptions{})
	} else {
		_, err = client.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAccess_followsThePermissionsOfTheAPIServer reviews tokens and permissions at a real API server.
func TestAccess_followsThePermissionsOfTheAPIServer(t *testing.T) {
	namespaces := kubernetes.NewForConfigOrDie(hub).CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cluster0002"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	managed := rbacv1.PolicyRule{APIGroups: []string{"search.open-cluster-management.io"}, Resources: []string{"searches/allManagedData"}, Verbs: []string{"get"}}
	views := rbacv1.PolicyRule{APIGroups: []string{"view.open-cluster-management.io"}, Resources: []string{"managedclusterviews"}, Verbs: []string{"create"}}
	server := serve(t, search.Options{Source: small, Hub: hub})
	testkit.Until(t, "the fleet to be filled in", func() bool { return server.Table().Len() == smallRows })
	for _, test := range []struct {
		name, namespace, reason string
		rule                    *rbacv1.PolicyRule
		items                   int
	}{
		{"search-admin", "", "who may do all sees all", &everything, 8},
		{"search-reader", "", "the one right is enough for all managed clusters", &managed, 8},
		{"search-viewer", "", "and so is the right to make views everywhere", &views, 8},
		{"search-one-viewer", "cluster0002", "or of one cluster for that one", &views, 2},
		{"search-nobody", "", "without a right nothing is seen", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			token := account(t, test.name)
			if test.rule != nil {
				grant(t, test.name, test.namespace, *test.rule)
			}
			testkit.Until(t, test.reason, func() bool {
				got := try(t, server, token, smallClusters...)
				return got.status == 200 && shapeOf(t, got.body).Items == test.items
			})
		})
	}
	if got := try(t, server, "notatoken", smallClusters...); got.status != 403 {
		t.Errorf("status %d for the token of no account, want 403", got.status)
	}
}

var (
	applicationResource = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	clusterResource     = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
)

// create creates an object of any kind on the hub, and deletes it when the test ends.
func create(t *testing.T, resource schema.GroupVersionResource, object map[string]any) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(hub).Resource(resource)
	u := &unstructured.Unstructured{Object: object}
	if _, err := client.Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := client.Namespace(u.GetNamespace()).Delete(context.WithoutCancel(t.Context()), u.GetName(), metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestLive_collectsExistingAndMissingResources collects an Application with its existing and missing resources from a real API server. It then
// creates a missing resource, which must appear.
func TestLive_collectsExistingAndMissingResources(t *testing.T) {
	create(t, clusterResource, map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": map[string]any{"name": "cluster1"}, "spec": map[string]any{"hubAcceptsClient": true},
	})
	create(t, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "default"},
	})
	create(t, applicationResource, map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{
			"name": "guestbook", "namespace": "default",
			"labels":      map[string]any{"apps.open-cluster-management.io/application-set": "true"},
			"annotations": map[string]any{"apps.open-cluster-management.io/hosting-applicationset": "argocd/guestbook"},
		},
		"spec": map[string]any{
			"project": "default", "source": map[string]any{"repoURL": "https://git.example.com/apps.git", "path": "guestbook"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "default"},
		},
		"status": map[string]any{"resources": []any{
			map[string]any{"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"},
			map[string]any{"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "default", "name": "gone"},
			map[string]any{"group": "example.com", "version": "v1", "kind": "Unheard", "name": "of"},
		}},
	})
	token := account(t, "search-live")
	grant(t, "search-live", "", rbacv1.PolicyRule{APIGroups: []string{"search.open-cluster-management.io"}, Resources: []string{"searches/allManagedData"}, Verbs: []string{"get"}})
	server := serve(t, search.Options{Hub: hub, Clusters: map[string]*rest.Config{"cluster1": hub}})
	var body []byte
	testkit.Until(t, "the Application to show with its resource", func() bool {
		got := try(t, server, token, "cluster1")
		body = got.body
		return got.status == 200 && shapeOf(t, body) == shape{Count: 1, Items: 1, Related: 1, Nodes: 1}
	})
	s := sample{}
	s.Response.Body = body
	item := s.results(t)[0].Items[0]
	missing := `[{"group":"apps","version":"v1","kind":"Deployment","namespace":"default","name":"gone"},` +
		`{"group":"example.com","version":"v1","kind":"Unheard","name":"of"}]`
	if item["_missingResources"] != missing || item["_hostingResource"] != "ApplicationSet/argocd/guestbook" {
		t.Errorf("missing %v of %v", item["_missingResources"], item["_hostingResource"])
	}

	create(t, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "gone", "namespace": "default"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "x"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "x"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "x:1"}}},
			},
		},
	})
	testkit.Until(t, "the missing resource to show", func() bool {
		return shapeOf(t, try(t, server, token, "cluster1").body).Related == 2
	})
}
