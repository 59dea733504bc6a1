// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// PageAccount is a name for a ServiceAccount that may see all of the page.
const PageAccount = "page-viewer"

// GrantPage gives aggregation what it reads for the page, for a fleet without
// [Options.Page] whose caller turns the page on.
func (pr *product) GrantPage(ctx context.Context) error {
	role, err := clusterRole(pageFile, pageReader)
	if err != nil {
		return err
	}
	return grant(ctx, pr.hub, role, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ProductNamespace, Name: Aggregation}})
}

// grant makes a role and binds an account to it.
func grant(ctx context.Context, hub *Cluster, role *unstructured.Unstructured, account *corev1.ServiceAccount) (err error) {
	defer must.Return(&err)
	binding := must.Get(bindingFor(role, account))
	must.OK(hub.Apply(ctx, role))
	if err := hub.Client.Create(ctx, binding); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("bind %s to %s: %w", role.GetName(), account.Name, err)
	}
	return nil
}

// Page returns the address at which a replica of aggregation serves the page; with
// [Options.Page].
func (pr *product) Page(replica int) (string, error) {
	p, err := pr.Process(fmt.Sprintf("%s-%d", Aggregation, replica))
	if err != nil {
		return "", err
	}
	address := p.Flag("page-bind-address")
	if address == "" {
		return "", fmt.Errorf("%s does not serve the page", p.Name)
	}
	return "http://" + address, nil
}

// PageToken returns a token of a ServiceAccount in [ProductNamespace] that may see all of
// the page; the account is made when it is not there.
func (pr *product) PageToken(ctx context.Context, name string, life time.Duration) (_ string, err error) {
	defer must.Return(&err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ProductNamespace, Name: name}}
	if err := pr.hub.Client.Create(ctx, account); client.IgnoreAlreadyExists(err) != nil {
		return "", fmt.Errorf("make %s, who looks at the page: %w", name, err)
	}
	role := must.Get(clusterRole(pageFile, pageViewer))
	must.OK(grant(ctx, pr.hub, role, account))
	return pr.hub.token(ctx, account.Namespace, name, life)
}
