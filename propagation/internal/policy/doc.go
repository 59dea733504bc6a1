// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy reads what people set that permits, delays or ends a delivery (pauses, deletion
// policies, allowed namespaces, global projects), and has the [Decision] that is reported on an
// Application. It is pure.
package policy
