// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package payload makes the ManifestWork that delivers an Application, and the patch
// that makes a stored ManifestWork the wanted one. It is pure: objects in, objects out.
//
// Where a function takes a cached ManifestWork, that is one whose spec the cache has
// replaced by manifestcache.Stored.
package payload
