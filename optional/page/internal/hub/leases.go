// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,resourceNames=multicluster-integrations-propagation;multicluster-integrations-aggregation,verbs=get

// controllers are those whose Leases are read: each holds multicluster-integrations-NAME.
var controllers = []string{"propagation", "aggregation"}

const (
	leasePrefix  = "multicluster-integrations-"
	leaseEvery   = 15 * time.Second
	leaseTimeout = 10 * time.Second
)

// Leases knows when each controller last renewed its Lease. It is a manager's runnable and
// works without a lease of its own.
type Leases struct {
	Live      client.Reader
	Namespace string
	Log       logr.Logger

	known atomic.Pointer[[]model.Lease]
}

// NeedLeaderElection is false: every replica shows the page.
func (l *Leases) NeedLeaderElection() bool { return false }

// Start reads the Leases until ctx ends.
func (l *Leases) Start(ctx context.Context) error {
	for more := true; more; more = clock.Sleep(ctx, leaseEvery) {
		l.read(ctx)
	}
	return nil
}

// Known returns what was read last; nothing before the first time.
func (l *Leases) Known() []model.Lease {
	if known := l.known.Load(); known != nil {
		return *known
	}
	return nil
}

// read reads the Leases. What cannot be read stays as it was, and so grows older.
func (l *Leases) read(ending context.Context) {
	ctx, cancel := context.WithTimeout(ending, leaseTimeout)
	defer cancel()
	before, now := l.Known(), make([]model.Lease, len(controllers))
	for i, name := range controllers {
		if now[i].Controller = name; before != nil {
			now[i] = before[i]
		}
		var lease coordinationv1.Lease
		err := l.Live.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: leasePrefix + name}, &lease)
		switch {
		case apierrors.IsNotFound(err):
			now[i].Renewed = time.Time{}
		case ending.Err() != nil:
			return
		case err != nil:
			l.Log.Error(err, "cannot read a Lease", "lease", fmt.Sprintf("%s/%s", l.Namespace, leasePrefix+name))
		case lease.Spec.RenewTime != nil:
			now[i].Renewed = lease.Spec.RenewTime.Time
		}
	}
	l.known.Store(&now)
}
