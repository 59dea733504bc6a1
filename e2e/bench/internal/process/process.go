// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process reads the resource usage of a process on this machine, from /proc.
package process

import (
	"time"

	"github.com/prometheus/procfs"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// Usage is the processor time of a process since its start, and its memory.
type Usage struct {
	// CPU is user and system time of all its threads.
	CPU time.Duration
	// Resident is its memory now, and Peak the largest memory so far, in bytes.
	Resident, Peak int64
}

// Of reads the usage of a process.
func Of(pid int) (_ Usage, err error) {
	defer must.Return(&err)
	p := must.Get(procfs.NewProc(pid))
	stat := must.Get(p.Stat())
	status, err := p.NewStatus()
	return Usage{
		CPU: time.Duration(stat.CPUTime() * float64(time.Second)), Resident: int64(status.VmRSS), Peak: int64(status.VmHWM),
	}, err
}

// Load returns the machine's load average of the last minute, or 0 if it is unknown.
func Load() float64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	load, err := fs.LoadAvg()
	if err != nil {
		return 0
	}
	return load.Load1
}
