// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access authenticates the callers of the stand-in for search v2 and returns the clusters that they
// may read. It uses TokenReview and SubjectAccessReview like the real service. It caches nothing, while the
// service caches for a minute.
package access

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var (
	// ErrInvalidToken means that the token belongs to no account.
	ErrInvalidToken = errors.New("invalid token")
	// ErrUnresolved means that the permissions of an account could not be reviewed.
	ErrUnresolved = errors.New("access is not resolved")
)

// Grant is the set of clusters that a caller may read.
type Grant struct {
	// Everything is true if the caller has all permissions. Such a caller may also read the hub's objects.
	Everything bool
	// AllManaged is true if the caller may read every managed cluster.
	AllManaged bool
	// Clusters are single managed clusters that the caller may read.
	Clusters map[string]bool
}

// Reviewer authenticates callers.
type Reviewer interface {
	// Review returns the grant for clusters of the caller with a token. The error is [ErrInvalidToken] for a
	// token of no account, [ErrUnresolved], or another error if the token could not be reviewed.
	Review(ctx context.Context, token string, clusters []string) (Grant, error)
}

// Tokens is a Reviewer with the grants of its callers by token, for tests without a hub.
type Tokens map[string]Grant

// Review returns the grant in the map.
func (t Tokens) Review(_ context.Context, token string, _ []string) (Grant, error) {
	grant, ok := t[token]
	if !ok {
		return Grant{}, ErrInvalidToken
	}
	return grant, nil
}

// hub is a Reviewer that uses the hub's API server.
type hub struct{ client kubernetes.Interface }

// Hub returns a Reviewer that uses the hub's API server. The account of config must be allowed to
// create token reviews and subject access reviews.
func Hub(config *rest.Config) (Reviewer, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the hub's client: %w", err)
	}
	return hub{client}, nil
}

// Review reviews the token without an audience, and then applies the service's rules. The first
// rule that matches decides.
func (h hub) Review(ctx context.Context, token string, clusters []string) (grant Grant, err error) {
	review, err := h.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return Grant{}, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated {
		return Grant{}, ErrInvalidToken
	}
	user := review.Status.User
	grant.Everything, err = h.allowed(ctx, user, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"})
	if err != nil || grant.Everything {
		return grant, err
	}
	grant.AllManaged, err = h.allowed(ctx, user, authorizationv1.ResourceAttributes{
		Verb: "get", Group: "search.open-cluster-management.io", Resource: "searches", Subresource: "allManagedData",
	})
	if err != nil || grant.AllManaged {
		return grant, err
	}
	grant.Clusters = make(map[string]bool, len(clusters))
	for _, cluster := range clusters {
		grant.Clusters[cluster], err = h.allowed(ctx, user, authorizationv1.ResourceAttributes{
			Verb: "create", Group: "view.open-cluster-management.io", Resource: "managedclusterviews", Namespace: cluster,
		})
		if err != nil {
			return Grant{}, err
		}
	}
	return grant, nil
}

func (h hub) allowed(ctx context.Context, user authenticationv1.UserInfo, attributes authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := h.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &attributes, User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("%w: review access of %s: %w", ErrUnresolved, user.Username, err)
	}
	return review.Status.Allowed, nil
}
