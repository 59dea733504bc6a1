// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// serveVariable marks the supervisor's process. Its value is the folder to remove.
const serveVariable = "MULTICLUSTER_INTEGRATIONS_SUPERVISOR"

// Supervisor runs processes. It is safe for concurrent use.
type Supervisor struct {
	folder string
	cmd    *exec.Cmd
	pipe   io.WriteCloser
	lock   *os.File
	gone   chan struct{}

	mu        sync.Mutex
	requests  *json.Encoder
	processes map[int]*Process
	nextID    int
}

// Start makes a new folder below parent, its name starting with prefix, and a
// supervisor that removes it at the end. It first removes the folders of programs and
// supervisors that were killed together.
func Start(parent, prefix string) (*Supervisor, error) {
	sweep(parent, prefix)
	folder, lock, err := makeFolder(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	w, err := start(folder, lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the supervisor: %w", err), lock.Close(), os.RemoveAll(folder))
	}
	return w, nil
}

func start(folder string, lock *os.File) (*Supervisor, error) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: os.Args[:1]}
	cmd.Env = append(os.Environ(), serveVariable+"="+folder)
	cmd.ExtraFiles = []*os.File{lock}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is for the program, which then closes the pipe
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &Supervisor{
		folder: folder, cmd: cmd, pipe: in, lock: lock, gone: make(chan struct{}),
		requests: json.NewEncoder(in), processes: map[int]*Process{},
	}
	go w.listen(json.NewDecoder(out))
	return w, nil
}

// Folder returns the supervisor's folder.
func (w *Supervisor) Folder() string { return w.folder }

// Gone is closed when the supervisor, and with it every process, has ended.
func (w *Supervisor) Gone() <-chan struct{} { return w.gone }

// Close kills every process, removes the folder and waits until that is done.
func (w *Supervisor) Close() error {
	_ = w.pipe.Close() // an error means that the supervisor has ended
	<-w.gone
	return errors.Join(os.RemoveAll(w.folder), w.lock.Close())
}

// listen handles the supervisor's reports until it ends.
func (w *Supervisor) listen(reports *json.Decoder) {
	for {
		var r report
		if err := reports.Decode(&r); err != nil {
			break
		}
		w.mu.Lock()
		p := w.processes[r.ID]
		if r.Ended {
			delete(w.processes, r.ID)
		}
		w.mu.Unlock()
		if p != nil {
			p.take(r)
		}
	}
	_ = w.cmd.Wait() // the reports of its children have the details
	w.mu.Lock()
	left := w.processes
	w.processes = nil
	w.mu.Unlock()
	for id, p := range left {
		p.take(report{ID: id, Ended: true, State: "killed with its supervisor"})
	}
	close(w.gone)
}

// send registers p, unless it is nil, and sends r.
func (w *Supervisor) send(r request, p *Process) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.processes == nil {
		return errors.New("the supervisor is gone")
	}
	if p != nil {
		w.nextID++
		p.id, r.ID = w.nextID, w.nextID
		w.processes[r.ID] = p
	}
	return w.requests.Encode(r)
}
