// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
)

// A leader election has one period for two things that want different ones: a standby
// takes over sooner the more often it looks at the Lease, which is one read of one
// object, and the leader renews the Lease with a write each time. The Lease of this
// package is looked at once a retry period, and renewed every renewalInterval.

// renewalInterval is how often the Lease is renewed: as often as by the standard
// periods of Kubernetes, but leaving time for several more tries before the deadline.
func renewalInterval(o *Options) time.Duration {
	return max(o.RetryPeriod, min(2*time.Second, o.RenewDeadline/5))
}

// lease is the Lease that a binary works under.
type lease struct {
	resourcelock.LeaseLock
	// skip is for how long after a renewal another one is left out.
	skip time.Duration
	// written is the last record that the API server took.
	written resourcelock.LeaderElectionRecord
}

// newLease returns the lease of a binary. It records no Events before [lease.recordWith].
func newLease(env *Env) (*lease, error) {
	o := &env.Options
	namespace := env.Namespace()
	if namespace == "" {
		return nil, errors.New("not in a pod: --leader-election-namespace has to name the namespace of the Lease")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name the holder of the Lease: %w", err)
	}
	config := rest.AddUserAgent(rest.CopyConfig(env.Config), "leader-election")
	config.Timeout = max(o.RenewDeadline/2, time.Second) // one request that hangs is not to cost the Lease
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create the client of the Lease: %w", err)
	}
	every := renewalInterval(o)
	return &lease{
		LeaseLock: resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: env.Program.LeaseName},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		// Half a retry period less, or a tick that comes a little early would put the renewal off by a whole one.
		skip: every - o.RetryPeriod/2,
	}, nil
}

// recordWith lets the lease record who leads.
func (l *lease) recordWith(mgr ctrl.Manager) {
	l.LockConfig.EventRecorder = mgr.GetEventRecorderFor(l.Identity()) //nolint:staticcheck // the only kind that a resource lock takes
}

// Create creates the Lease with a record.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(record, l.LeaseLock.Create(ctx, record))
}

// Update writes a record, unless all that is new is a time of renewal that is hardly later.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	since := record.RenewTime.Sub(l.written.RenewTime.Time)
	same := record
	same.RenewTime = l.written.RenewTime
	if same == l.written && since >= 0 && since < l.skip {
		return nil
	}
	return l.wrote(record, l.LeaseLock.Update(ctx, record))
}

// wrote remembers a record that was written. After an error nobody knows what the API
// server has, so that the next one is written in any case.
func (l *lease) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if l.written = record; err != nil {
		l.written = resourcelock.LeaderElectionRecord{}
	}
	return err
}
