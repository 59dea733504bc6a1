// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package appstatus edits the raw JSON status of an Argo CD Application without
// losing anything: what it does not know, and what belongs to others, stays the
// bytes that it was. It decides what a patch must hold; it sends none.
package appstatus
