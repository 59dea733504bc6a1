// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "syscall"

// ownGroup puts a child process into a process group of its own, so that it can be stopped together with the compilers it
// started, and asks the kernel to interrupt it should the builder die without a chance to do that.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
