// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/supervisor"
)

// folderPrefix begins the name of every fleet's folder.
const folderPrefix = "multicluster-integrations-fleet-"

// Fleet is a running fleet.
type Fleet struct {
	// Hub is the hub cluster.
	Hub *Cluster
	// Managed are the managed clusters, in the order of [Options].
	Managed []*Cluster
	// Git is the repository that the examples name; nil with [Options.HubOnly].
	Git *Repository
	// Search is the stand-in for search v2, which runs in this process; nil with
	// [Options.HubOnly].
	Search *search.Server

	options    Options
	folder     string
	supervisor *supervisor.Supervisor
	ports      ports
	backing    addresses
	// gitProxy is where RepositoryURL is served; repository servers reach it there.
	gitProxy    string
	repoServers map[generation]*repoServer
	began       time.Time

	// ctx ends with the fleet; its cause is the first failure of a process.
	ctx     context.Context //nolint:containedctx // a fleet lives on when the call that started it is over
	cancel  context.CancelCauseFunc
	workers sync.WaitGroup

	mu        sync.Mutex
	processes map[string]*Process
}

// Start starts a fleet and returns when all of it is ready. On failure nothing is
// left but the logs, whose place the error tells. The caller must call Stop; if
// the program ends without it, the fleet ends as well.
func Start(ctx context.Context, options Options) (*Fleet, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	log.SetLogger(logr.Discard()) // what clients would log, errors tell
	w, err := supervisor.Start("", folderPrefix)
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		options: options, folder: w.Folder(), supervisor: w, began: time.Now(), processes: map[string]*Process{},
		repoServers: map[generation]*repoServer{},
	}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	starting, done := f.bind(ctx)
	defer done()
	if err := f.start(starting); err != nil {
		if ctx.Err() != nil { // the caller gave up: no logs are needed
			return nil, errors.Join(fmt.Errorf("start the fleet: %w", context.Cause(ctx)), f.Stop())
		}
		if failure := f.Err(); failure != nil {
			err = failure // all that was waiting then only says that it was cut off
		}
		kept, keepErr := f.KeepLogs()
		return nil, errors.Join(fmt.Errorf("start the fleet: %w\n  all logs: %s", err, kept), keepErr, f.Stop())
	}
	f.progress("ready")
	return f, nil
}

// bind returns a context that ends with ctx or at the first failure of a process,
// with that failure as its cause.
func (f *Fleet) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(f.ctx, func() { cancel(context.Cause(f.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Stop ends every process and removes the folder. It may be called again.
func (f *Fleet) Stop() error {
	f.cancel(errStopped)
	f.workers.Wait()
	var searchErr error
	if f.Search != nil {
		searchErr = f.Search.Close()
	}
	return errors.Join(searchErr, f.supervisor.Close(), f.ports.release())
}

var errStopped = errors.New("the fleet was stopped")

// Context ends when the fleet stops or when a process ends by itself.
func (f *Fleet) Context() context.Context { return f.ctx }

// Err says why the fleet has ended: which process ended, with the end of its log. It
// is nil before.
func (f *Fleet) Err() error { return context.Cause(f.ctx) }

func (f *Fleet) fail(err error) { f.cancel(err) }

// Rendered reports whether the fleet runs rendered mode, see [Options].
func (f *Fleet) Rendered() bool { return f.options.Rendered }

// GitOpsClusters reports whether clusters are registered by GitOpsClusters, see [Options].
func (f *Fleet) GitOpsClusters() bool { return f.options.GitOpsClusters }

// Folder returns the fleet's temporary folder.
func (f *Fleet) Folder() string { return f.folder }

// Process returns a process by its name, or an error that lists the names.
func (f *Fleet) Process(name string) (*Process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.processes[name]; p != nil {
		return p, nil
	}
	var names []string
	for each := range f.processes {
		names = append(names, each)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("no process is called %q; there are %q", name, names)
}

// Processes returns every process of the fleet, sorted by name.
func (f *Fleet) Processes() []*Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*Process, 0, len(f.processes))
	for _, p := range f.processes {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Process) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Cluster returns a managed cluster, or the hub, by its name; nil if there is none.
func (f *Fleet) Cluster(name string) *Cluster {
	for _, c := range append([]*Cluster{f.Hub}, f.Managed...) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func (f *Fleet) progress(format string, args ...any) {
	f.options.Progress(fmt.Sprintf("%5.1fs  ", time.Since(f.began).Seconds()) + fmt.Sprintf(format, args...))
}

// path returns a path below the fleet's folder.
func (f *Fleet) path(elements ...string) string {
	return filepath.Join(append([]string{f.folder}, elements...)...)
}

func (f *Fleet) makeFolders() error {
	for _, name := range []string{logFolder, "etcd", "git", "plugins", "plugin-work"} {
		if err := os.MkdirAll(f.path(name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// port returns one free port.
func (f *Fleet) port() (int, error) {
	taken, err := f.takePorts(1)
	if err != nil {
		return 0, err
	}
	return taken[0], nil
}
