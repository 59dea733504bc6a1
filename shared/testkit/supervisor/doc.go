// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs processes that never outlive the program that asked for
// them, however that program ends.
//
// [Start] runs the program's own executable once more as the supervisor. It holds
// one end of a pipe; the program holds the other. Every process is a child of the
// supervisor, in a process group of its own. When the pipe closes - because the
// program closed it, ended, panicked or was killed - the supervisor kills every group,
// waits for what is left and removes the folder. When the supervisor itself is
// killed, the kernel kills its children (PR_SET_PDEATHSIG) and the program removes
// the folder; when both are killed at once, the next [Start] does.
//
// Importing the package is enough: its init function recognises the second process.
package supervisor
