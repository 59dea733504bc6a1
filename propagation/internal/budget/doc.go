// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget limits how many deliveries are withdrawn at a time. It takes up the plan of
// each Application ([Budget.Set]). One worker evaluates all planned ends together, by the pure
// function evaluate, and stores in one ConfigMap what has to survive a restart before anything
// is deleted. Then it requeues the Applications whose ends may go on or are held.
//
// Ends are evaluated by lane: those of one ApplicationSet, or of one namespace without one, or
// of one cluster. Withdrawals and revocations have separate lanes. Each lane has a limit, a
// hold and a window, and all lanes of a kind share those of the hub.
package budget
