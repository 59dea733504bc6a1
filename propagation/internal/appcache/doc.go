// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package appcache defines the memory of propagation's manager: the caches, the informers that fill
// them, the index of ManifestWorks, and the client. Delivery and mirror share the caches and the
// index. Package manifestcache lists which fields of an object are kept, and why.
package appcache
