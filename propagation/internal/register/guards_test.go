// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// conditional records each write, and whether it is conditional on the Secret that was read.
type conditional struct {
	mu      sync.Mutex
	blind   []string
	guarded int
}

func (g *conditional) note(what string, holds bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if holds {
		g.guarded++
	} else {
		g.blind = append(g.blind, what)
	}
}

func (g *conditional) wrap(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			var patch struct {
				Metadata struct{ ResourceVersion string }
			}
			data, err := p.Data(o)
			g.note("patch "+string(data), err == nil && json.Unmarshal(data, &patch) == nil && patch.Metadata.ResourceVersion != "")
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			var options client.DeleteOptions
			options.ApplyOptions(opts)
			p := options.Preconditions
			g.note("delete "+o.GetName(), p != nil && p.UID != nil && *p.UID == o.GetUID() && p.ResourceVersion != nil && *p.ResourceVersion == o.GetResourceVersion())
			return c.Delete(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			g.note("update "+o.GetName(), o.GetResourceVersion() != "")
			return c.Update(ctx, o, opts...)
		},
	})
}

// Every write is conditional on the Secret that was read. Neither a stale cache nor a second replica deletes
// or duplicates a Secret.
func TestWrite_isConditional(t *testing.T) {
	a := newArgo(t)
	var g conditional
	_, stop := a.start(g.wrap)
	name, other := unique("c"), unique("c")
	cluster := a.cluster(name, map[string]string{"v": "1"})
	second := a.cluster(other, nil)
	secret := a.registered(name, nil)
	a.registered(other, nil)
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels["v"] = "2" })
	a.labelled(name, map[string]string{"v": "2"})
	testkit.Edit(t, hub.client, secret, func(s *corev1.Secret) { s.Labels = nil }) // repaired after a live read
	a.labelled(name, map[string]string{"v": "2"})
	testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	a.absent(name)
	stop()
	if err := hub.client.Delete(context.Background(), second); err != nil {
		t.Fatal(err)
	}
	a.start(g.wrap)
	a.absent(other)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.blind) > 0 || g.guarded < 4 {
		t.Errorf("unconditional writes: %q; %d conditional ones", g.blind, g.guarded)
	}
}

// behind answers reads of one Secret with an older version.
func behind(old *corev1.Secret, reads *atomic.Int64) func(client.WithWatch) client.Client {
	return func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if into, is := o.(*corev1.Secret); is && key.Name == old.Name && reads.Add(-1) >= 0 {
					old.DeepCopyInto(into)
					return nil
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
	}
}

// The cache still has the registration's Secret, while another client has created a Secret of that name. The
// registration neither deletes nor changes the foreign Secret.
func TestForeignSecret_staysUnchangedWithAStaleCache(t *testing.T) {
	for kind, leave := range map[string]func(*clusterv1.ManagedCluster){
		"delete": func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false },
		"patch":  func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{"v": "2"} },
	} {
		t.Run(kind, func(t *testing.T) {
			a := newArgo(t)
			_, stop := a.start(nil)
			name := unique("c")
			cluster := a.cluster(name, nil)
			isOwn := a.registered(name, nil)
			stop()
			if err := hub.client.Delete(context.Background(), isOwn); err != nil {
				t.Fatal(err)
			}
			theirs := &corev1.Secret{StringData: map[string]string{"name": "theirs"}}
			theirs.Namespace, theirs.Name = isOwn.Namespace, isOwn.Name
			a.create(theirs)
			testkit.Edit(t, hub.client, cluster, leave)

			var reads atomic.Int64
			reads.Store(3)
			a.start(behind(isOwn, &reads))
			testkit.Eventually(t, "the stale reads", func() error {
				if n := reads.Load(); n >= 0 {
					return fmt.Errorf("%d are left", n)
				}
				return nil
			})
			probe := unique("c")
			a.cluster(probe, nil)
			a.registered(probe, nil)
			if after := a.registered(name, nil); after.UID != theirs.UID || after.ResourceVersion != theirs.ResourceVersion {
				t.Errorf("it is %s, %v", after.UID, after.Labels)
			}
		})
	}
}

// After an outage of any length, the registration retries everything within the longest wait.
func TestRetry_followsAnOutageOfAnyLength(t *testing.T) {
	const failures = 30 // controller-runtime's own waits for this many failures take a day
	a := newArgo(t)
	a.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, 20*time.Millisecond)
	var left atomic.Int64
	left.Store(failures)
	a.start(func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, secret := o.(*corev1.Secret); secret && left.Add(-1) >= 0 {
					return apierrors.NewInternalError(errors.New("etcd is away"))
				}
				return c.Create(ctx, o, opts...)
			},
		})
	})
	name := unique("c")
	a.cluster(name, nil)
	a.registered(name, nil)
	if n := left.Load(); n >= 0 {
		t.Errorf("registered with %d failures to come", n)
	}
}
