// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package appcache says what propagation's manager keeps in memory and how it gets there:
// the caches, the informers that fill them, the index of ManifestWorks, and the client
// that goes with them. Delivery and mirror read the same caches, and each other's works by
// the same index; what is kept of an object, and why, is in package manifestcache.
package appcache
