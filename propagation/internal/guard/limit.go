// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Settings say when withdrawals are held.
type Settings struct {
	// Group is the limit of each group, Hub that of all together.
	Group, Hub limit.Limit
	// Window is the time within which withdrawals add up.
	Window time.Duration
}

// How long what is to be withdrawn is gathered before it is judged. The ApplicationSet
// controller deletes some twenty Applications a second, so that a fixed wait would let
// the first part of a mass deletion go as if it were all.
const (
	// gather: as few as every group may lose go together after this.
	gather = time.Second
	// settle: more are judged once no other has joined them for so long,
	settle = 5 * time.Second
	// longest: or once the first has waited for so long.
	longest = time.Minute
)
