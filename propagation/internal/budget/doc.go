// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget limits how many deliveries are withdrawn at a time. Delivery notes, per
// Application, which ManifestWorks are to be withdrawn; one worker decides on all of them
// together with package guard, stores what has to survive a restart in one ConfigMap before
// anything is deleted, and requeues the Applications that may go on or are held.
package budget
