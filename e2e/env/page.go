// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// PageAccount is a name for a ServiceAccount that may see all of the page.
const PageAccount = "page-viewer"

// ClusterRoles of deploy/components/page: what aggregation reads, and who may look.
const (
	pageReader = "multicluster-integrations-page"
	pageViewer = "multicluster-integrations-page-viewer"
)

// pageRole returns a ClusterRole of deploy/components/page.
func pageRole(name string) (*unstructured.Unstructured, error) {
	file := filepath.Join(testkit.Root(), "deploy", "components", "page", "page.yaml")
	objects, err := ReadObjects(file)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" && o.GetName() == name {
			return o, nil
		}
	}
	return nil, fmt.Errorf("%s has no ClusterRole %s", file, name)
}

// GrantPage gives aggregation what it reads for the page, for a fleet without
// [Options.Page] whose caller turns the page on.
func (f *Fleet) GrantPage(ctx context.Context) error {
	role, err := pageRole(pageReader)
	if err != nil {
		return err
	}
	return f.grant(ctx, role, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ProductNamespace, Name: Aggregation}})
}

func (f *Fleet) grant(ctx context.Context, role *unstructured.Unstructured, account *corev1.ServiceAccount) error {
	binding, err := bindingFor(role, account)
	if err != nil {
		return err
	}
	if err := f.Hub.Apply(ctx, role); err != nil {
		return err
	}
	if err := f.Hub.Client.Create(ctx, binding); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("bind %s to %s: %w", role.GetName(), account.Name, err)
	}
	return nil
}

// pageArguments turn the page on, on loopback and so without TLS: a browser has no
// certificate to complain of.
func (f *Fleet) pageArguments() ([]string, error) {
	port, err := f.port()
	if err != nil {
		return nil, err
	}
	return []string{"--page-bind-address=" + local(port), "--page-secure=false"}, nil
}

// Page returns the address at which a replica of aggregation serves the page; with
// [Options.Page].
func (f *Fleet) Page(replica int) (string, error) {
	p, err := f.Process(fmt.Sprintf("%s-%d", Aggregation, replica))
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
func (f *Fleet) PageToken(ctx context.Context, name string, life time.Duration) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ProductNamespace, Name: name}}
	if err := f.Hub.Client.Create(ctx, account); client.IgnoreAlreadyExists(err) != nil {
		return "", fmt.Errorf("make %s, who looks at the page: %w", name, err)
	}
	role, err := pageRole(pageViewer)
	if err != nil {
		return "", err
	}
	if err := f.grant(ctx, role, account); err != nil {
		return "", err
	}
	seconds := int64(life.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := f.Hub.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("ask for a token of %s/%s: %w", account.Namespace, name, err)
	}
	return request.Status.Token, nil
}
