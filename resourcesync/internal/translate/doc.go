// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translate turns answers of search into intermediate reports. It is
// pure: the same rows in any order give the same bytes.
package translate
