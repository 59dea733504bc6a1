// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance holds our own view of Argo CD against Argo CD's types: the
// words that we spell, and that what is delivered is what was written. It has
// only tests.
package conformance
