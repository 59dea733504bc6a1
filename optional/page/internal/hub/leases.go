// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,resourceNames=multicluster-integrations-propagation;multicluster-integrations-aggregation,verbs=get

// controllers are the controllers with a Lease that is read. Each Lease is named
// multicluster-integrations-NAME.
var controllers = []string{"propagation", "aggregation"}

const (
	leasePrefix  = "multicluster-integrations-"
	leaseEvery   = 15 * time.Second
	leaseTimeout = 10 * time.Second
)

// Leases has the last renewal of each controller's Lease. It is a runnable of the manager that
// needs no leader election.
type Leases struct {
	Live      client.Reader
	Namespace string
	Log       logr.Logger

	known atomic.Pointer[[]model.Lease]
}

// NeedLeaderElection returns false, because every replica shows the page.
func (l *Leases) NeedLeaderElection() bool { return false }

// Start reads the Leases until ctx ends.
func (l *Leases) Start(ctx context.Context) error {
	for more := true; more; more = clock.Sleep(ctx, leaseEvery) {
		l.read(ctx)
	}
	return nil
}

// Known returns the last read Leases, without Leases that were never read.
func (l *Leases) Known() []model.Lease {
	if known := l.known.Load(); known != nil {
		return *known
	}
	return nil
}

// read reads the Leases. A Lease that cannot be read keeps its last renewal, and so becomes old.
func (l *Leases) read(ending context.Context) {
	ctx, cancel := context.WithTimeout(ending, leaseTimeout)
	defer cancel()
	now := make([]model.Lease, 0, len(controllers))
	for _, name := range controllers {
		var lease coordinationv1.Lease
		err := l.Live.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: leasePrefix + name}, &lease)
		switch {
		case ending.Err() != nil:
			return
		case client.IgnoreNotFound(err) != nil:
			l.Log.Error(err, "cannot read a Lease", "lease", fmt.Sprintf("%s/%s", l.Namespace, leasePrefix+name))
			now = append(now, l.before(name)...)
		case lease.Spec.RenewTime != nil:
			now = append(now, model.Lease{Controller: name, Renewed: lease.Spec.RenewTime.Time})
		default:
			now = append(now, model.Lease{Controller: name}) // no controller holds it
		}
	}
	l.known.Store(&now)
}

// before returns the last state of a controller's Lease, or nothing if it was never read.
func (l *Leases) before(controller string) []model.Lease {
	return slices.DeleteFunc(slices.Clone(l.Known()), func(known model.Lease) bool { return known.Controller != controller })
}
