// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// Spec describes a process.
type Spec struct {
	// Args are the program's path, which is not searched for, and its arguments.
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working folder.
	Dir string
	// Log is the file that takes standard output and standard error, appended.
	Log string
}

// Process is a process that the supervisor runs. Its standard input stays open and
// empty for as long as the supervisor lives.
type Process struct {
	supervisor *Supervisor
	id         int
	pid        int
	once       sync.Once
	started    chan struct{}
	ended      chan struct{}
	state      string
	err        error
}

// Run starts a process. It returns once the process is running, or with the reason why it could not
// start.
func (w *Supervisor) Run(ctx context.Context, spec Spec) (*Process, error) {
	p := &Process{supervisor: w, started: make(chan struct{}), ended: make(chan struct{})}
	if err := w.send(request{Spec: &spec}, p); err != nil {
		return nil, fmt.Errorf("run %s: %w", spec.Args[0], err)
	}
	select {
	case <-p.started:
	case <-ctx.Done():
		return nil, fmt.Errorf("run %s: %w", spec.Args[0], context.Cause(ctx))
	}
	if p.err != nil {
		return nil, fmt.Errorf("run %s: %w", spec.Args[0], p.err)
	}
	return p, nil
}

// PID returns the process's id, which is the id of its process group too.
func (p *Process) PID() int { return p.pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// State returns how the process ended. It is empty while the process is running.
func (p *Process) State() string {
	select {
	case <-p.ended:
		return p.state
	default:
		return ""
	}
}

// Signal sends a signal to the process group.
func (p *Process) Signal(s syscall.Signal) error {
	return p.supervisor.send(request{ID: p.id, Signal: int(s)}, nil)
}

// Stop asks the process to end and waits for it.
func (p *Process) Stop(ctx context.Context) error { return p.end(ctx, syscall.SIGTERM) }

// Kill ends the process like a crash, and waits for it.
func (p *Process) Kill(ctx context.Context) error { return p.end(ctx, syscall.SIGKILL) }

func (p *Process) end(ctx context.Context, s syscall.Signal) error {
	if err := p.Signal(s); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for process %d to end after %s: %w", p.pid, s, context.Cause(ctx))
	}
}

// take records a report of the supervisor. The first report has the result of the start: the
// process is running, or the start failed.
func (p *Process) take(r report) {
	p.once.Do(func() {
		p.pid = r.PID
		if r.Error != "" || r.PID == 0 {
			p.err = errors.New(r.Error + r.State)
		}
		close(p.started)
	})
	if r.Ended {
		p.state = r.State
		close(p.ended)
	}
}
