// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package appstatus edits the raw JSON status of an Argo CD Application without losing anything.
// Unknown fields, and fields of other writers, keep their bytes. The package computes patches and
// does not send them.
package appstatus
