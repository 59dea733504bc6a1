// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy parses the settings that permit, delay or remove a delivery: pauses, deletion
// policies, allowed namespaces, global projects. [Decision] is reported on an Application. The
// package is pure.
package policy
