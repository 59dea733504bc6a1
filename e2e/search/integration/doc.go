// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the resourcesync binary against the stand-in for search v2 and a real hub API
// server, with outages, rotations and wrong answers. A report may never lose known data or show a wrong age.
package integration
