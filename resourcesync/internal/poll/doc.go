// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package poll asks search at an interval and keeps the intermediate reports
// right. What it knows of a managed cluster is replaced by a good answer only: a
// failed or incomplete one leaves it and dates it, and one in which something has
// vanished is believed when a second read confirms it.
package poll
