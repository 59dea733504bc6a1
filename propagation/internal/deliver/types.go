// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/refreshes"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// gatherer reads what a decision rests on: Application, works, cluster, binding, project and
// the annotations of those who may delay.
type gatherer struct {
	// client reads from the cache and writes; live reads from the API server, for
	// everything that a deletion rests on.
	client  client.Client
	live    client.Reader
	index   *manifestcache.Index
	options Options
	now     func() time.Time
	// withdrawals knows the words of ApplicationSets that are gone.
	withdrawals withdrawals
}

// identities finds out to whom a delivered identity belongs.
type identities struct{ *gatherer }

// unlabelledWorks finds works that the cache does not select.
type unlabelledWorks struct {
	*gatherer
	unlabelled unlabelled
}

// writer writes ManifestWorks.
type writer struct {
	*gatherer
	lastApplied lastApplied
	tracker     *tracker
}

// operations sees one-time requests of Applications through.
type operations struct {
	*gatherer
	refreshes *refreshes.Memory
}

// reporter writes conditions and Events, and counts them.
type reporter struct {
	*gatherer
	events  events.EventRecorder
	tracker *tracker
}

// ender ends ManifestWorks, see [ender.withdraw].
type ender struct {
	*gatherer
	*writer
	*reporter
	gracePeriods gracePeriods
}

// watcher leads every change to the Applications that it concerns.
type watcher struct {
	*gatherer
	*identities
	*reporter
	unlabelled  *unlabelled
	lastApplied *lastApplied
	tracker     *tracker
	swept       chan event.GenericEvent
}
