// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs holds the tests of what people read: the links of the Markdown files,
// and that what is said about all modules or all actions is true of each.
package docs
