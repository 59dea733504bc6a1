// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// withdrawals is the budget as delivery uses it: each reconcile of an Application notes
// which of its works are to be withdrawn.
type withdrawals struct{ *budget.Budget }

func (w withdrawals) begin(app types.NamespacedName) { w.Begin(app) }

func (w withdrawals) end(app types.NamespacedName, err error) { w.End(app, err) }

// note notes that a work of app is to be withdrawn, when due at once, and reports
// whether it may be. revocation: since it may not be there any more.
func (w withdrawals) note(app types.NamespacedName, work *manifestcache.Cached, due, revocation bool, now time.Time) bool {
	return w.Note(app, work.UID, groupOf(work), due, revocation, now)
}

// held returns why works of app that its last reconcile noted are held.
func (w withdrawals) held(app types.NamespacedName) (guard.HeldBack, bool) { return w.Held(app) }

// groupOf returns the group that a work is judged with.
func groupOf(work metav1.Object) guard.Group { return budget.GroupOf(work) }
