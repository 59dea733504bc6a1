// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle gathers a burst of file events into one look at the directory.
	settle = 20 * time.Millisecond
	// rescan is how often the directory is looked at without any event: events can
	// be lost, and a directory that is not there yet cannot be watched.
	rescan = 5 * time.Second
)

// Watch calls changed for every report that is there, then listed once, with what
// stood in the way of finding them, then changed for each report that appears, is replaced or goes, until ctx ends. It calls one at
// a time, and says neither what happened nor whether the report is good: read it. A
// report for which changed returns an error is tried again, at the latest after five
// seconds. The directory may be missing, be removed and come back. Without a free
// inotify instance changes are found within five seconds instead of at once.
func (s *Store) Watch(ctx context.Context, changed func(namespace, name string) error, listed func(error)) error {
	events := make(<-chan fsnotify.Event)
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		events = watcher.Events
		go drain(ctx, watcher.Errors)
	}
	w := &watch{store: s, watcher: watcher, changed: changed, seen: map[string]sighting{}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-events:
			if !open {
				events = nil
				continue
			}
			timer.Reset(settle)
			w.wait(ctx, events, timer)
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return nil
		}
		err := w.look()
		if listed != nil {
			listed(err)
			listed = nil
		}
		timer.Reset(rescan)
	}
}

// drain takes the errors of a watcher: all they say is that events were lost,
// which the next rescan finds out.
func drain(ctx context.Context, errs <-chan error) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-errs:
			if !open {
				return
			}
		}
	}
}

type watch struct {
	store   *Store
	watcher *fsnotify.Watcher // nil: only rescans
	changed func(namespace, name string) error
	seen    map[string]sighting // by file name
}

// sighting is a file as it was when last looked at.
type sighting struct {
	key  Key
	info fs.FileInfo
	// failed: it could not be taken in. What stood in the way may pass without any
	// trace in the file (permissions, too many open files), so it is tried again.
	failed bool
}

// wait swallows the rest of a burst.
func (w *watch) wait(ctx context.Context, events <-chan fsnotify.Event, timer *time.Timer) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-events:
		}
	}
}

// look compares the directory with what was seen last and tells the differences.
func (w *watch) look() error {
	w.follow()
	entries, err := os.ReadDir(w.store.dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("list intermediate reports: %w", err) // which is not "empty"
	}
	var errs []error
	present := make(map[string]bool, len(entries))
	for _, e := range entries {
		if _, _, ok := parseName(e.Name()); !ok {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // gone since; told below if it had been seen
		}
		present[e.Name()] = true
		last, known := w.seen[e.Name()]
		if known && !last.failed && same(last.info, info) {
			continue
		}
		key := last.key
		if !known {
			k, ok, err := w.store.owner(e.Name())
			if err != nil || !ok {
				errs = append(errs, err)
				continue // whose it is cannot be told; looked at again next time
			}
			key = k
		}
		err = w.changed(key.Namespace, key.Name)
		w.seen[e.Name()] = sighting{key: key, info: info, failed: err != nil}
	}
	for file, last := range w.seen {
		if !present[file] {
			// An error leaves it among the files that were seen, and so tries again.
			if w.changed(last.key.Namespace, last.key.Name) == nil {
				delete(w.seen, file)
			}
		}
	}
	return errors.Join(errs...)
}

// follow watches the directory, or what is nearest to it while it is missing, so
// that its creation is noticed at once too.
func (w *watch) follow() {
	if w.watcher == nil {
		return
	}
	target := filepath.Clean(w.store.dir)
	for {
		if _, err := os.Stat(target); err == nil || filepath.Dir(target) == target {
			break
		}
		target = filepath.Dir(target)
	}
	for _, watched := range w.watcher.WatchList() {
		if watched != target {
			_ = w.watcher.Remove(watched) // it may be gone itself
		}
	}
	// Adding again what is watched is free, and needed when a directory of the same
	// name has replaced the one before. An error leaves the rescan.
	_ = w.watcher.Add(target)
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
