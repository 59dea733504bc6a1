// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget limits how many deliveries are removed in a period of time. [Budget.Set] records
// the plan of each Application. One worker evaluates all planned removals together, with the pure
// function evaluate. Before anything is deleted, it stores the state that has to survive a restart
// in one ConfigMap. Then it requeues the Applications with removals that may proceed or are held.
//
// Removals are evaluated by lane. A lane belongs to one ApplicationSet, to the Applications of one
// namespace without an ApplicationSet, or to one cluster. Removals that a tenant requests and
// removals after a lost permission have separate lanes. Each lane has a limit, a hold and a window.
// All lanes of one kind also share a limit, a hold and a window of the hub.
package budget
