// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs tests the documentation: links in Markdown files and comments, and statements about all
// modules or all actions.
package docs
