// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Watchable returns the first namespace, and each other namespace in which all resources may be
// listed and watched. A cache waits forever if one of these rights is missing, and blocks the whole
// process. Watchable logs which namespaces it leaves out, and which right is missing. For the first
// namespace readiness reports the missing right.
func (e *Env) Watchable(ctx context.Context, namespaces Names, resources ...metav1.GroupResource) (Names, error) {
	if len(namespaces) == 1 {
		return namespaces, nil
	}
	api, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	kept := namespaces[:1:1]
	for _, namespace := range namespaces[1:] {
		missing, err := missingRight(ctx, api.AuthorizationV1().SelfSubjectAccessReviews(), namespace, resources)
		if err != nil {
			return nil, err
		}
		if missing == "" {
			kept = append(kept, namespace)
			continue
		}
		e.Log.Info("leaving out an --argocd-namespace for want of a right; grant it and restart", "namespace", namespace, "missing", missing)
	}
	return kept, nil
}

// missingRight returns the first right that the process does not have in a namespace, or "" if it
// has all.
func missingRight(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, namespace string, resources []metav1.GroupResource) (string, error) {
	for _, r := range resources {
		for _, verb := range []string{"list", "watch"} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: r.Group, Resource: r.Resource},
			}}
			review, err := reviews.Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return "", fmt.Errorf("review the right to %s %s in namespace %s: %w", verb, r.Resource, namespace, err)
			}
			if !review.Status.Allowed {
				return verb + " " + r.String(), nil
			}
		}
	}
	return "", nil
}
