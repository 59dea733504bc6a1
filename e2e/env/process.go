// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/multicluster-integrations/shared/testkit/supervisor"
)

// Process is one process of the fleet. It may be stopped, killed and started again. Only an exit that was not
// requested is a failure of the fleet.
type Process struct {
	// Name identifies the process, for example "cluster1-work-agent".
	Name string
	// Log is the path of its log.
	Log string

	fleet  *Processes
	health string // the address where a binary of the product reports that it is ready
	spec   supervisor.Spec

	mu       sync.Mutex
	current  *supervisor.Process
	restarts int
}

// restartDelay is the time before all restarts but the first. A kubelet waits longer.
const restartDelay = time.Second

// command is the command line and environment of a process.
type command struct {
	name string
	args []string
	env  []string
	// restarts is how often the process is restarted when it exits on its own, as a kubelet does. The next
	// exit is a failure.
	restarts int
}

// run starts a process. PATH is the only variable that it gets from this program's environment.
func (ps *Processes) run(ctx context.Context, c command) (*Process, error) {
	home := filepath.Join(ps.folder, "home", c.name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	environment := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	if ps.options.SaveMemory {
		environment = append(environment, "GOGC=50")
	}
	environment = append(environment, c.env...)
	log := filepath.Join(ps.folder, logFolder, c.name+".log")
	p := &Process{
		Name: c.name, Log: log, fleet: ps, restarts: c.restarts,
		spec: supervisor.Spec{Args: c.args, Env: environment, Dir: home, Log: log},
	}
	ps.mu.Lock()
	ps.processes[c.name] = p
	ps.mu.Unlock()
	return p, p.Start(ctx)
}

// Start starts the process, or restarts it with the same arguments.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start(ctx, 0)
}

// start starts the process. delay is the time between its exit and its restart. The caller must hold the lock.
func (p *Process) start(ctx context.Context, delay time.Duration) error {
	running, err := p.fleet.supervisor.Run(ctx, p.spec)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.current = running
	go p.watch(running, delay)
	return nil
}

// StartAs starts the process with another build of its binary. Later starts use that build, too.
func (p *Process) StartAs(ctx context.Context, binary string) error {
	p.mu.Lock()
	p.spec.Args = append([]string{binary}, p.spec.Args[1:]...)
	p.mu.Unlock()
	return p.Start(ctx)
}

// Binary returns the path of the build that the process uses.
func (p *Process) Binary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spec.Args[0]
}

// watch restarts the process, or fails the fleet, if the process exits without a request.
func (p *Process) watch(running *supervisor.Process, delay time.Duration) {
	<-running.Ended()
	select {
	case <-time.After(delay):
	case <-p.fleet.ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != running {
		return
	}
	if p.restarts == 0 || p.fleet.ctx.Err() != nil {
		p.fleet.fail(fmt.Errorf("%s ended by itself: %s\n%s", p.Name, running.State(), tail(p.Log)))
		return
	}
	p.restarts--
	if err := p.start(p.fleet.ctx, restartDelay); err != nil {
		p.fleet.fail(err)
	}
}

// PID returns the id of the running process, or 0.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return 0
	}
	return p.current.PID()
}

// Stop requests the process to exit and waits until it has exited.
func (p *Process) Stop(ctx context.Context) error {
	return p.end(func(running *supervisor.Process) error { return running.Stop(ctx) })
}

// Kill kills the process, like a crash.
func (p *Process) Kill(ctx context.Context) error {
	return p.end(func(running *supervisor.Process) error { return running.Kill(ctx) })
}

func (p *Process) end(how func(*supervisor.Process) error) error {
	p.mu.Lock()
	running := p.current
	p.current = nil
	p.mu.Unlock()
	if running == nil {
		return nil
	}
	if err := how(running); err != nil {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	return nil
}

// AwaitReady waits until a binary of the product is ready, also after a restart.
func (p *Process) AwaitReady(ctx context.Context) error { return p.awaitHTTP(ctx, p.health) }

// plainClient sends requests to processes on this machine, without TLS.
var plainClient = &http.Client{Timeout: 10 * time.Second}

// awaitHTTP waits until a plain HTTP endpoint answers 200.
func (p *Process) awaitHTTP(ctx context.Context, url string) error {
	err := Wait(ctx, p.Name+" to answer "+url, func(ctx context.Context) (bool, string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err.Error()
		}
		response, err := plainClient.Do(request)
		if err != nil {
			return false, err.Error()
		}
		defer response.Body.Close() // nothing was written
		var body bytes.Buffer
		_, _ = body.ReadFrom(http.MaxBytesReader(nil, response.Body, 4096)) // only to show it
		return response.StatusCode == http.StatusOK, response.Status + " " + body.String()
	})
	return p.explain(err)
}

// awaitPort waits until the process accepts connections.
func (p *Process) awaitPort(ctx context.Context, port int) error {
	err := Wait(ctx, p.Name+" to listen on "+local(port), func(ctx context.Context) (bool, string) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", local(port))
		if err != nil {
			return false, err.Error()
		}
		return true, fmt.Sprint(conn.Close())
	})
	return p.explain(err)
}

// explain adds the end of the process's log to an error.
func (p *Process) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\n%s", err, tail(p.Log))
}

// Processes are the processes of a fleet, with their common folder, ports and context.
type Processes struct {
	options    Options
	folder     string
	supervisor *supervisor.Supervisor
	ports      ports
	began      time.Time

	// ctx ends with the fleet. Its cause is the first failure of a process.
	ctx     context.Context //nolint:containedctx // a fleet lives on when the call that started it is over
	cancel  context.CancelCauseFunc
	workers sync.WaitGroup

	mu        sync.Mutex
	processes map[string]*Process
}

// bind returns a context that ends with ctx or at the first failure of a process,
// with that failure as its cause.
func (ps *Processes) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ps.ctx, func() { cancel(context.Cause(ps.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Context ends when the fleet stops or when a process exits on its own.
func (ps *Processes) Context() context.Context { return ps.ctx }

// Err returns why the fleet has ended, for example which process exited, with the end of its log. It is nil
// before that.
func (ps *Processes) Err() error { return context.Cause(ps.ctx) }

func (ps *Processes) fail(err error) { ps.cancel(err) }

// Folder returns the fleet's temporary folder.
func (ps *Processes) Folder() string { return ps.folder }

// Get returns a process by its name, or an error that lists the names.
func (ps *Processes) Get(name string) (*Process, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.processes[name]; p != nil {
		return p, nil
	}
	var names []string
	for each := range ps.processes {
		names = append(names, each)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("no process is called %q; there are %q", name, names)
}

// All returns every process of the fleet, sorted by name.
func (ps *Processes) All() []*Process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	all := make([]*Process, 0, len(ps.processes))
	for _, p := range ps.processes {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Process) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (ps *Processes) progress(format string, args ...any) {
	ps.options.Progress(fmt.Sprintf("%5.1fs  ", time.Since(ps.began).Seconds()) + fmt.Sprintf(format, args...))
}

// path returns a path below the fleet's folder.
func (ps *Processes) path(elements ...string) string {
	return filepath.Join(append([]string{ps.folder}, elements...)...)
}

func (ps *Processes) makeFolders() error {
	for _, name := range []string{logFolder, "etcd", "git", "plugins", "plugin-work"} {
		if err := os.MkdirAll(ps.path(name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// FreePort returns a port that is free on this machine.
func (ps *Processes) FreePort() (int, error) {
	taken, err := ps.takePorts(1)
	if err != nil {
		return 0, err
	}
	return taken[0], nil
}

// takePorts returns n free ports.
func (ps *Processes) takePorts(n int) ([]int, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.ports.take(n)
}

// KeepLogs moves the logs to a separate folder that remains after the fleet, and returns its path. Running
// processes continue to write there.
func (ps *Processes) KeepLogs() (string, error) {
	kept, err := os.MkdirTemp("", "multicluster-integrations-logs-")
	if err != nil {
		return "", fmt.Errorf("keep the logs: %w", err)
	}
	target := filepath.Join(kept, logFolder)
	if err := os.Rename(filepath.Join(ps.folder, logFolder), target); err != nil {
		return "", fmt.Errorf("keep the logs: %w", err)
	}
	return target, nil
}

// plugins returns the folder in which the repository server searches for the sockets of plugins.
func (ps *Processes) plugins() string { return ps.path("plugins") }

// stage is one step of the start.
type stage func(context.Context) error

// parallel runs stages in parallel until all have returned or one fails.
func parallel(ctx context.Context, stages ...stage) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range stages {
		group.Go(func() error { return s(ctx) })
	}
	return group.Wait()
}

// Flag returns the value of a command-line argument "--name=value" of the process, or "". If the
// process has several, Flag returns the last value.
func (p *Process) Flag(name string) string {
	value := ""
	for _, argument := range p.spec.Args {
		if v, ok := strings.CutPrefix(argument, "--"+name+"="); ok {
			value = v
		}
	}
	return value
}
