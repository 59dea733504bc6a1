// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package payload builds the ManifestWork that delivers an Application, and the patch that changes
// a stored ManifestWork into the desired one. It is pure.
//
// The cache replaces the spec of a ManifestWork by manifestcache.Stored. Functions that take a
// cached ManifestWork expect that form.
package payload
