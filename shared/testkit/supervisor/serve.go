// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// request asks the supervisor to start Spec or to send Signal.
type request struct {
	ID     int
	Spec   *Spec `json:",omitempty"`
	Signal int   `json:",omitempty"`
}

// report is about one process: first PID or Error, and at the end Ended.
type report struct {
	ID    int
	PID   int    `json:",omitempty"`
	Error string `json:",omitempty"`
	Ended bool   `json:",omitempty"`
	State string `json:",omitempty"`
}

// lockDescriptor is the file descriptor of the folder's lock.
const lockDescriptor = 3

func init() {
	folder := os.Getenv(serveVariable)
	if folder == "" {
		return
	}
	l := &server{reports: json.NewEncoder(os.Stdout), pids: map[int]int{}}
	l.run(os.Stdin)
	if err := os.RemoveAll(folder); err != nil {
		os.Stderr.WriteString("supervisor: " + err.Error() + "\n")
	}
	os.Exit(0)
}

// server is the supervisor's side of the connection.
type server struct {
	mu      sync.Mutex
	reports *json.Encoder
	pids    map[int]int // by request id, only running processes
	running sync.WaitGroup
}

// run serves requests until the pipe closes, and returns when no process is running.
func (l *server) run(pipe io.Reader) {
	signal.Ignore(os.Interrupt, syscall.SIGHUP, syscall.SIGPIPE)
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	syscall.CloseOnExec(lockDescriptor)
	adoptOrphans()

	// The kernel ties "kill me when my parent dies" to the thread that forked. So one thread forks
	// everything and lives as long as the process.
	starts := make(chan request)
	go func() {
		runtime.LockOSThread()
		for r := range starts {
			l.start(r)
		}
	}()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		requests := json.NewDecoder(pipe)
		for {
			var r request
			if requests.Decode(&r) != nil {
				return
			}
			if r.Spec != nil {
				starts <- r
			} else {
				l.signal(r.ID, syscall.Signal(r.Signal))
			}
		}
	}()
	select {
	case <-closed:
	case <-terminated:
	}
	l.killAll()
}

func (l *server) start(r request) {
	cmd, err := begin(r.Spec)
	if err != nil {
		l.report(report{ID: r.ID, Error: err.Error(), Ended: true})
		return
	}
	l.mu.Lock()
	l.pids[r.ID] = cmd.Process.Pid
	l.mu.Unlock()
	l.running.Add(1)
	l.report(report{ID: r.ID, PID: cmd.Process.Pid})
	go func() {
		defer l.running.Done()
		_ = cmd.Wait() // State has the result
		l.mu.Lock()
		delete(l.pids, r.ID)
		l.mu.Unlock()
		l.report(report{ID: r.ID, PID: cmd.Process.Pid, Ended: true, State: cmd.ProcessState.String()})
	}()
}

// begin starts a process with an input that stays open.
func begin(s *Spec) (*exec.Cmd, error) {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own copy
	cmd := &exec.Cmd{Path: s.Args[0], Args: s.Args}
	cmd.Env, cmd.Dir = s.Env, s.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return cmd, cmd.Start()
}

func (l *server) report(r report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.reports.Encode(r) // the program does not read any more: the pipe is about to close
}

func (l *server) signal(id int, s syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pid := l.pids[id]; pid != 0 {
		_ = syscall.Kill(-pid, s) // it may have ended just now
	}
}
