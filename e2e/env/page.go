// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// PageAccount is the name of a ServiceAccount that may read the whole page.
const PageAccount = "page-viewer"

// pageViewer is the ClusterRole of deploy/components/page for viewers of the page.
const pageViewer = "multicluster-integrations-page-viewer"

// Page returns the address of a replica of the page. It needs [Options.Page].
func (pr *Product) Page(replica int) (string, error) {
	p, err := pr.processes.Get(fmt.Sprintf("%s-%d", Page, replica))
	if err != nil {
		return "", err
	}
	return "http://" + p.Flag("page-bind-address"), nil
}

// StartPage starts the page without [Options.Page] on a hub that has its component.
func (pr *Product) StartPage(ctx context.Context) (*Process, error) {
	identity, err := pr.processes.identity(ctx, pr.hub, ProductNamespace, Account(Page), shortLife)
	if err != nil {
		return nil, fmt.Errorf("give the page its identity: %w", err)
	}
	if err := pr.startReplica(ctx, Page, pr.processes.options.Sources, identity, 0); err != nil {
		return nil, err
	}
	return pr.processes.Get(Page + "-0")
}

// PageToken returns a token of a ServiceAccount in [ProductNamespace] that may read the whole page. It
// creates the account if it does not exist.
func (pr *Product) PageToken(ctx context.Context, name string, life time.Duration) (_ string, err error) {
	defer must.Return(&err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ProductNamespace, Name: name}}
	if err := pr.hub.Client.Create(ctx, account); client.IgnoreAlreadyExists(err) != nil {
		return "", fmt.Errorf("make %s, who looks at the page: %w", name, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: pageViewer + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: pageViewer},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: name}},
	}
	if err := pr.hub.Client.Create(ctx, binding); client.IgnoreAlreadyExists(err) != nil {
		return "", fmt.Errorf("let %s see the page: %w", name, err)
	}
	return pr.hub.token(ctx, account.Namespace, name, life)
}
