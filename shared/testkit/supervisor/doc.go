// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs processes that never outlive the program that started them, however that program ends.
//
// [Start] runs the program's own executable a second time as the supervisor. Program and supervisor hold the two ends
// of a pipe. Every process is a child of the supervisor, in a separate process group. The pipe closes when the
// program closes it, ends, panics or is killed. The supervisor then kills every group, waits for the remaining
// processes and removes the folder. If the supervisor itself is killed, the kernel kills its children
// (PR_SET_PDEATHSIG), and the program removes the folder. If both are killed at once, the next [Start] removes it.
//
// Importing the package is sufficient: its init function recognises the second process.
package supervisor
