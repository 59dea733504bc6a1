// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// readable returns the first namespace and those of the others in which cluster Secrets may
// be read. Without the right the cache would wait for ever, and delivery with it; in the
// first namespace that is a mistake which readiness reports.
func readable(ctx context.Context, env *boot.Env, namespaces []string) ([]string, error) {
	if len(namespaces) == 1 {
		return namespaces, nil
	}
	api, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	kept := namespaces[:1:1]
	for _, namespace := range namespaces[1:] {
		missing, err := missingVerb(ctx, api, namespace)
		if err != nil {
			return nil, err
		}
		if missing == "" {
			kept = append(kept, namespace)
			continue
		}
		env.Log.Info("leaving out an Argo CD: its cluster Secrets may not be read, so pulled Applications of clusters with its agents are not kept from these; grant the right and restart",
			"namespace", namespace, "verb", missing, "resource", "secrets")
	}
	return kept, nil
}

// missingVerb returns what may not be done with Secrets of a namespace, "" when all may.
func missingVerb(ctx context.Context, api kubernetes.Interface, namespace string) (string, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets"},
		}}
		review, err := api.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("review the right to %s secrets in namespace %s: %w", verb, namespace, err)
		}
		if !review.Status.Allowed {
			return verb, nil
		}
	}
	return "", nil
}
