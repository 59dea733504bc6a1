// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collect fills a search table from what it watches on real clusters,
// as the collectors of search v2 do.
package collect
