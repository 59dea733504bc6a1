// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The kinds that the service's access rules name.
const (
	searchGroup = "search.open-cluster-management.io"
	viewGroup   = "view.open-cluster-management.io"
)

// hub asks the hub's API server.
type hub struct{ client kubernetes.Interface }

// Hub returns a Reviewer that asks the hub's API server. The configuration's
// account must be allowed to create token reviews and subject access reviews.
func Hub(config *rest.Config) (Reviewer, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the hub's client: %w", err)
	}
	return hub{client}, nil
}

// Authenticate reviews the token, without an audience.
func (h hub) Authenticate(ctx context.Context, token string) (Caller, error) {
	review, err := h.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return Caller{}, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated {
		return Caller{}, ErrInvalidToken
	}
	user := review.Status.User
	caller := Caller{Name: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string][]string{}}
	for key, values := range user.Extra {
		caller.Extra[key] = values
	}
	return caller, nil
}

// Authorize goes through the service's rules; the first that holds decides.
func (h hub) Authorize(ctx context.Context, caller Caller, clusters []string) (Grant, error) {
	all, err := h.allowed(ctx, caller, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	if err != nil {
		return Grant{}, err
	}
	if all {
		return Grant{Everything: true}, nil
	}
	grant := Grant{}
	if grant.AllManaged, err = h.allowed(ctx, caller, authorizationv1.ResourceAttributes{
		Verb: "get", Group: searchGroup, Resource: "searches", Subresource: "allManagedData",
	}); err != nil || grant.AllManaged {
		return grant, err
	}
	view := authorizationv1.ResourceAttributes{Verb: "create", Group: viewGroup, Resource: "managedclusterviews"}
	grant.Clusters = make(map[string]bool, len(clusters))
	for _, cluster := range clusters {
		view.Namespace = cluster
		if grant.Clusters[cluster], err = h.allowed(ctx, caller, view); err != nil {
			return Grant{}, err
		}
	}
	return grant, nil
}

func (h hub) allowed(ctx context.Context, caller Caller, attributes authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(caller.Extra))
	for key, values := range caller.Extra {
		extra[key] = values
	}
	review, err := h.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: &attributes,
			User:               caller.Name,
			UID:                caller.UID,
			Groups:             caller.Groups,
			Extra:              extra,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review access of %s: %w", caller.Name, err)
	}
	return review.Status.Allowed, nil
}
