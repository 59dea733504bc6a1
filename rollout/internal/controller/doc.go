// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller reads what the clusters of a rollout report, has package step decide
// what is next, and writes it into the status of the ApplicationSetRollout. It writes nothing
// else: propagation delivers what the status allows.
package controller
