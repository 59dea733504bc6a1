// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process reads what a process of this machine has used, from /proc.
package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: Linux has had it at 100 Hz for user space on
// every platform for decades (sysconf(_SC_CLK_TCK)).
const tick = 10 * time.Millisecond

// Usage is what a process has used since it started, and its memory.
type Usage struct {
	// CPU is user and system time of all its threads.
	CPU time.Duration
	// Resident is the memory that it holds now, Peak the most that it ever held, in bytes.
	Resident, Peak int64
}

// Of reads the usage of a process.
func Of(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Resident: kibibytes(status, "VmRSS:"), Peak: kibibytes(status, "VmHWM:")}
	u.CPU, err = cpu(stat)
	return u, err
}

// cpu reads user and system time from a process's stat. The second field, the
// program's name in brackets, may hold anything, so fields count from its end.
func cpu(stat []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, fmt.Errorf("no name in %q", stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	const user, system = 11, 12 // fields 14 and 15 of proc(5)
	if len(fields) <= system {
		return 0, fmt.Errorf("only %d fields in %q", len(fields), stat)
	}
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("field %d of %q: %w", i+3, stat, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// kibibytes returns a line of a process's status in bytes, 0 when it is not there.
func kibibytes(status []byte, key string) int64 {
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

// Load returns the machine's load average of the last minute, 0 when it is not known.
func Load() float64 {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
