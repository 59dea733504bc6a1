// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploytest tests the deploy folder: the rendered manifests, and their installation on a real API
// server. The tests need `make tools build`.
package deploytest
