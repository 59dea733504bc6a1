// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// comparisons has the time when each available cluster last reported a comparison of its Argo CD, by
// the hub's clock. At first it has the time when the cluster was observed as available.
//
// A status on the hub is the last report, and has no age. Argo CD compares every Application every few
// minutes, also without a change. So if a cluster is available and reports no comparison, its Argo CD
// or its work agent does not work.
type comparisons struct {
	// on and of look up the Applications of a cluster, and their works.
	on  func(cluster string) ([]types.NamespacedName, error)
	of  func(app types.NamespacedName) ([]*manifestcache.Work, error)
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

// comparing has the comparisons of the running controller, for the metric.
var comparing atomic.Pointer[comparisons]

func newComparisons(index *manifestcache.Index) *comparisons {
	return &comparisons{on: index.On, of: index.Of, now: time.Now, last: map[string]time.Time{}}
}

// expect begins or ends to expect comparisons of a cluster.
func (c *comparisons) expect(cluster string, available bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, expected := c.last[cluster]; !available {
		delete(c.last, cluster)
	} else if !expected {
		c.last[cluster] = c.now()
	}
}

// observe records a comparison that a ManifestWork reports for the first time.
func (c *comparisons) observe(before, after client.Object) {
	old, ok := before.(*manifestcache.Work)
	work, ok2 := after.(*manifestcache.Work)
	if !ok || !ok2 || work.Facts.SameComparison(&old.Facts) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, expected := c.last[work.Namespace]; expected {
		c.last[work.Namespace] = c.now()
	}
}

// oldest returns how long ago the last comparison was, of the cluster that has reported none for the
// longest time. Only clusters count whose Applications are shown as compared.
func (c *comparisons) oldest() time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest time.Duration
	for cluster, at := range c.last {
		if age := c.now().Sub(at); age > oldest && c.compares(cluster) {
			oldest = age
		}
	}
	return oldest
}

// compares reports whether an Application of a cluster is shown as compared. A work in deletion
// reports no comparison any more.
func (c *comparisons) compares(cluster string) bool {
	apps, err := c.on(cluster)
	return err == nil && slices.ContainsFunc(apps, func(app types.NamespacedName) bool {
		works, err := c.of(app)
		return err == nil && slices.ContainsFunc(works, func(w *manifestcache.Work) bool {
			return w.Namespace == cluster && w.DeletionTimestamp.IsZero() && w.Compared()
		})
	})
}
