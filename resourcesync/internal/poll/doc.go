// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package poll requests from search at an interval what runs on managed clusters and
// keeps the intermediate reports right. What is known of a cluster is replaced by a good
// answer only: a failed or incomplete one leaves it, and dates it when that lasts. What a
// good answer contains is taken over at once; what it leaves out is held for five minutes,
// each resource and each Application for itself, with its time in the report. A cluster
// that search cannot answer for, or not in time, is requested alone.
package poll
