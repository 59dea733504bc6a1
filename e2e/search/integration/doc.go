// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the resourcesync binary against the stand-in for
// search v2 and a real hub API server, through outages, rotations and answers
// that lie. At no time may a report lose known data or lie about its age.
package integration
