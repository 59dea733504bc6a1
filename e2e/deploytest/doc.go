// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploytest has the tests of the deploy folder: what it renders, and what a real API
// server does with it. They need `make tools build`.
package deploytest
