// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// account is the ServiceAccount of resourcesync, in the namespace of the fleet's Applications, with the
// permissions of resourcesync.
const account = "resourcesync"

var (
	hub    *rest.Config
	binary string

	clusterResource = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1", Resource: "managedclusters"}
	setResource     = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}
)

func TestMain(m *testing.M) {
	testkit.SideBySide(8)
	code, err := withHub(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withHub starts the hub, builds the binary and runs the tests.
func withHub(run func() int) (code int, err error) {
	config, stop, err := testkit.Start()
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopped := stop(); err == nil {
			err = stopped
		}
	}()
	hub = config
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := env.Build(ctx); err != nil {
		return 1, err
	}
	binary = filepath.Join(testkit.Root(), "bin", "product", env.ResourceSync)
	if err := populate(ctx); err != nil {
		return 1, err
	}
	return run(), nil
}

// populate creates the objects on the hub that resourcesync reads, and its account with its permissions.
func populate(ctx context.Context) error {
	client := kubernetes.NewForConfigOrDie(hub)
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: memory.Namespace}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	for i := range fleet.Clusters {
		if err := createCluster(ctx, memory.ClusterName(i)); err != nil {
			return err
		}
	}
	for i := range fleet.Sets {
		if err := createSet(ctx, memory.SetName(i)); err != nil {
			return err
		}
	}
	search := rbacv1.PolicyRule{APIGroups: []string{"search.open-cluster-management.io"}, Resources: []string{"searches/allManagedData"}, Verbs: []string{"get"}}
	return grant(ctx, client, search)
}

func createSet(ctx context.Context, name string) error {
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": name, "namespace": memory.Namespace},
		"spec":     map[string]any{"generators": []any{}, "template": map[string]any{"metadata": map[string]any{}, "spec": applicationSpec()}},
	}}
	sets := dynamic.NewForConfigOrDie(hub).Resource(setResource).Namespace(memory.Namespace)
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create ApplicationSet: %w", err)
	}
	return nil
}

func applicationSpec() map[string]any {
	return map[string]any{
		"project": "default", "source": map[string]any{"repoURL": "https://git.example.com/apps.git"},
		"destination": map[string]any{},
	}
}

func createCluster(ctx context.Context, name string) error {
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"hubAcceptsClient": true},
	}}
	if _, err := dynamic.NewForConfigOrDie(hub).Resource(clusterResource).Create(ctx, cluster, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create ManagedCluster: %w", err)
	}
	return nil
}

// grant creates the account with one permission for search and with read permissions on the hub.
func grant(ctx context.Context, client kubernetes.Interface, search rbacv1.PolicyRule) error {
	read := []string{"get", "list", "watch"}
	meta := metav1.ObjectMeta{Name: account}
	for _, err := range []error{
		second(client.CoreV1().ServiceAccounts(memory.Namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})),
		second(client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			search,
			{APIGroups: []string{clusterResource.Group}, Resources: []string{clusterResource.Resource}, Verbs: read},
			{APIGroups: []string{setResource.Group}, Resources: []string{setResource.Resource}, Verbs: read},
		}}, metav1.CreateOptions{})),
		second(client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: memory.Namespace}},
		}, metav1.CreateOptions{})),
	} {
		if err != nil {
			return fmt.Errorf("grant rights: %w", err)
		}
	}
	return nil
}

func second[T any](_ T, err error) error { return err }
