// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package clustersecret

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is the same for every writer, so that a hand-over between them does not change a
// Secret.
const fieldOwner = "multicluster-integrations-register"

// Apply makes the write of a step. The result is a conflict if another client has written the
// Secret in between.
func (s Step) Apply(ctx context.Context, c client.Client) error {
	secret := s.Secret
	switch s.Verb {
	case VerbCreate:
		if err := c.Create(ctx, secret, client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("create Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		ctrl.LoggerFrom(ctx).Info("registered cluster with Argo CD", "secret", secret.Name)
	case VerbPatch:
		target := &corev1.Secret{}
		target.Namespace, target.Name = secret.Namespace, secret.Name
		if err := c.Patch(ctx, target, client.RawPatch(types.MergePatchType, s.patch), client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("patch Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
	case VerbDelete:
		err := c.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		if err == nil {
			ctrl.LoggerFrom(ctx).Info("unregistered cluster from Argo CD", "secret", secret.Name)
		}
	}
	return nil
}
