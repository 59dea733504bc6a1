// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// slowLooks lets some looks at Applications of a cluster come to their end, and the others
// not before release.
type slowLooks struct {
	cluster string
	free    int
	release chan struct{}

	mu      sync.Mutex
	looking map[types.UID]bool
}

func (s *slowLooks) wait(ctx context.Context) error {
	id := controller.ReconcileIDFromContext(ctx)
	s.mu.Lock()
	if !s.looking[id] && len(s.looking) < s.free {
		s.looking[id] = true
	}
	through := s.looking[id]
	s.mu.Unlock()
	if through {
		return nil
	}
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// After a start nothing goes before every Application that has a ManifestWork was looked
// at: the first few that are found to be gone look like the few that may go at any time.
func TestGuardWaitsForFirstLooks(t *testing.T) {
	on := guarded(newHubNamespace(t))
	first := start(t, on)
	g := generate(t, argocd.ResourcesFinalizer)
	first.stop()
	g.remove(g.apps...)

	slow := &slowLooks{cluster: g.cluster, free: 2, release: make(chan struct{}), looking: map[types.UID]bool{}}
	release := sync.OnceFunc(func() { close(slow.release) })
	t.Cleanup(release)
	startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, is := o.(*clusterv1.ManagedCluster); is && key.Name == slow.cluster {
					if err := slow.wait(ctx); err != nil {
						return err
					}
				}
				return c.Get(ctx, key, o, opts...)
			},
		})
	}, on, func(o *Options) { o.Concurrency = 20 })
	testkit.Eventually(t, "two looks to be through", func() error {
		slow.mu.Lock()
		defer slow.mu.Unlock()
		if len(slow.looking) < slow.free {
			return errors.New("not yet")
		}
		return nil
	})
	began := time.Now()
	testkit.Eventually(t, "the time after which a few would go", func() error {
		if time.Since(began) < 4*time.Second {
			return errors.New("not yet")
		}
		return nil
	})
	g.kept()
	release()
	g.awaitHeld("ApplicationSet")
}
