// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Remove deletes the Secrets that are ours. Call it when no agent of this Argo CD is left.
func (k *Keeper) Remove(ctx context.Context, namespace string) error {
	secrets, err := k.ours(ctx, namespace)
	if err != nil {
		return err
	}
	for _, secret := range secrets {
		err := k.client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		ctrl.LoggerFrom(ctx).Info("deleted what argocd-agent's principal depends on", "namespace", secret.Namespace, "name", secret.Name)
	}
	forget(namespace)
	return nil
}

// PlanRemove returns the writes that [Keeper.Remove] would make.
func (k *Keeper) PlanRemove(ctx context.Context, namespace string) ([]Write, error) {
	secrets, err := k.ours(ctx, namespace)
	writes := make([]Write, 0, len(secrets))
	for _, secret := range secrets {
		writes = append(writes, Write{Verb: "delete", Kind: "Secret", Namespace: secret.Namespace, Name: secret.Name, Why: "no agent of this Argo CD is left"})
	}
	return writes, err
}

// ours returns the Secrets that are ours, the CA's key last. An Argo CD without any of the others has no key of
// ours, so that its key need not be readable: only an Argo CD with agents needs that right.
func (k *Keeper) ours(ctx context.Context, namespace string) ([]*corev1.Secret, error) {
	var all []*corev1.Secret
	for _, object := range []client.ObjectKey{
		{Namespace: namespace, Name: tokenName}, {Namespace: namespace, Name: proxyName}, {Namespace: namespace, Name: leafName},
		{Namespace: namespace, Name: caName}, {Namespace: k.keys, Name: KeyName(namespace)},
	} {
		secret, err := get(ctx, k.live, object.Namespace, object.Name)
		if apierrors.IsForbidden(err) && object.Name == KeyName(namespace) && len(all) == 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if secret != nil && isOwn(secret) {
			all = append(all, secret)
		}
	}
	return all, nil
}
