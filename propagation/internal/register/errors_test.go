// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var errInjected = errors.New("injected")

// failing makes the first calls of each kind fail, including reads of Secrets.
func failing(err error, times int64) func(client.WithWatch) client.Client {
	var left [4]atomic.Int64
	for i := range left {
		left[i].Store(times)
	}
	fails := func(i int) bool { return left[i].Add(-1) >= 0 }
	return func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if fails(0) {
					return err
				}
				return c.Get(ctx, key, o, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, secret := o.(*corev1.Secret); secret && fails(1) {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if fails(2) {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if fails(3) {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		})
	}
}

// The registration retries every failed call. It deletes nothing because of a failed read.
func TestRetry_repeatsEveryFailedCall(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for kind, err := range map[string]error{
		"any":       errInjected,
		"conflict":  apierrors.NewConflict(secrets, "x", errInjected),
		"throttled": apierrors.NewTooManyRequests("slow down", 1),
		"forbidden": apierrors.NewForbidden(secrets, "x", errInjected),
	} {
		t.Run(kind, func(t *testing.T) {
			a := newArgo(t)
			a.start(failing(err, 3))
			name := unique("c")
			cluster := a.cluster(name, map[string]string{"v": "1"})
			first := a.registered(name, nil)
			testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels["v"] = "2" })
			second := a.registered(name, func(s *corev1.Secret) error {
				if s.Labels["v"] != "2" {
					return errors.New("label not followed")
				}
				return nil
			})
			if first.UID != second.UID {
				t.Error("an error was taken for absence")
			}
			if err := hub.client.Delete(context.Background(), cluster); err != nil {
				t.Fatal(err)
			}
			a.absent(name)
		})
	}
}
