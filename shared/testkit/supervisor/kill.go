// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of grandchildren after their parent has ended. So a
// process that left its group is found at the end as well.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it the groups are still killed
}

// killAll kills every process group, then the processes that were adopted.
func (l *server) killAll() {
	l.mu.Lock()
	for _, pid := range l.pids {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	l.mu.Unlock()
	l.running.Wait()
	for {
		children := childrenOf(os.Getpid())
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			return // ECHILD: no child exists
		}
	}
}

// childrenOf returns the ids of a process's children, including ended ones.
func childrenOf(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var children []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// "pid (any name, even with parentheses) state ppid ..."
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) {
			children = append(children, pid)
		}
	}
	return children
}
