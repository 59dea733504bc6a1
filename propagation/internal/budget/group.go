// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// longestName is the longest name of an ApplicationSet that is stored whole.
const longestName = 40

// short returns the form of a group in lanes and in the stored memory. It replaces the end of a
// long name by a hash, because tenants write names, and the ConfigMap has a size limit. No
// ApplicationSet has a name with "~".
func short(g decide.Group) decide.Group {
	if len(g.Set) > longestName {
		hash := sha256.Sum256([]byte(g.Set))
		g.Set = strings.ToValidUTF8(g.Set[:longestName-17], "") + "~" + hex.EncodeToString(hash[:8])
	}
	return g
}
