// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import "testing"

// TestWatch polls so rarely that only a hint can make a change show.
func TestWatch(t *testing.T) {
	w := prepare(t, fleet)
	w.account = watcher
	w.run("--search-interval=1h", "--search-watch")
	w.eventually("the subscription is there", func(state) bool { return w.server.Table().Watchers() == 1 })
	w.complete()
	w.server.Table().Put(changed())
	w.eventually("the change shows long before the next poll", hasCondition)
}
