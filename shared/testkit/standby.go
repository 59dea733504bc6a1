// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Standby is a manager that waits for a Lease which somebody holds until Lead is called.
type Standby struct {
	t      testing.TB
	lease  *coordinationv1.Lease
	leases interface {
		Update(context.Context, *coordinationv1.Lease, metav1.UpdateOptions) (*coordinationv1.Lease, error)
	}

	mu sync.Mutex
	// told are the resourceVersions that event handlers were told of last, by UID.
	told map[types.UID]string
}

// NewStandby holds a Lease in a namespace, for a manager with the options that
// [Standby.Elect] sets.
func NewStandby(t testing.TB, config *rest.Config, namespace string) *Standby {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("create client: %v", err)
	}
	leases := clients.CoordinationV1().Leases(namespace)
	held, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "held-"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("somebody"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create Lease: %v", err)
	}
	return &Standby{t: t, lease: held, leases: leases, told: map[types.UID]string{}}
}

// Elect makes a manager with the options the standby.
func (s *Standby) Elect(o *ctrl.Options) {
	o.LeaderElection, o.LeaderElectionNamespace, o.LeaderElectionID = true, s.lease.Namespace, s.lease.Name
	o.LeaderElectionResourceLock = "leases"
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = ptr.To(time.Hour), ptr.To(time.Minute), ptr.To(50*time.Millisecond)
	o.NewCache = func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		c, err := cache.New(config, o)
		return followed{c, s}, err
	}
}

// Lead releases the Lease.
func (s *Standby) Lead() {
	s.t.Helper()
	s.lease.Spec.HolderIdentity = ptr.To("")
	if _, err := s.leases.Update(context.Background(), s.lease, metav1.UpdateOptions{}); err != nil {
		s.t.Fatalf("release the Lease: %v", err)
	}
}

// Knows waits until what the standby registered with its cache by AddEventHandler was told
// of o as it is. A cache has a change before its handlers are told.
func (s *Standby) Knows(o client.Object) {
	s.t.Helper()
	Until(s.t, "the standby to know "+o.GetName(), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.told[o.GetUID()] == o.GetResourceVersion()
	})
}

// after calls a handler and then remembers what it was told.
func (s *Standby) after(handler toolscache.ResourceEventHandler) toolscache.ResourceEventHandler {
	remember := func(object any) {
		if o, ok := object.(metav1.Object); ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told[o.GetUID()] = o.GetResourceVersion()
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			handler.OnAdd(object, isInInitialList)
			remember(object)
		},
		UpdateFunc: func(before, object any) {
			handler.OnUpdate(before, object)
			remember(object)
		},
		DeleteFunc: handler.OnDelete,
	}
}

// followed is a cache whose event handlers a standby follows.
type followed struct {
	cache.Cache
	by *Standby
}

// GetInformer implements [cache.Informers].
func (f followed) GetInformer(ctx context.Context, o client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := f.Cache.GetInformer(ctx, o, opts...)
	if shared, ok := informer.(toolscache.SharedIndexInformer); ok {
		return followedShared{shared, f.by}, err
	}
	return followedInformer{informer, f.by}, err
}

// followedInformer is an informer of a cache that is cut up by namespace.
type followedInformer struct {
	cache.Informer
	by *Standby
}

// AddEventHandler implements [cache.Informer].
func (f followedInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.Informer.AddEventHandler(f.by.after(handler))
}

// followedShared is any other informer.
type followedShared struct {
	toolscache.SharedIndexInformer
	by *Standby
}

// AddEventHandler implements [cache.Informer].
func (f followedShared) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.SharedIndexInformer.AddEventHandler(f.by.after(handler))
}
