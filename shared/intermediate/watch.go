// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// scanEvery is how often the directory is scanned. What the reports hold is older than
// that when they are written.
const scanEvery = time.Second

// Watch calls changed for every report that is there, then listed once, with what
// stood in the way of finding them, then changed within a second or so for each report
// that appears, is replaced or goes, until ctx ends. It calls one at a time, and says
// neither what happened nor whether the report is good: read it. A report for which
// changed returns an error is tried again after a second. The directory may be missing,
// be removed and come back.
func (s *Store) Watch(ctx context.Context, changed func(namespace, name string) error, listed func(error)) error {
	w := &watch{store: s, changed: changed, seen: map[string]fileState{}}
	listed(w.scan())
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			_ = w.scan() // it is tried again
		}
	}
}

type watch struct {
	store   *Store
	changed func(namespace, name string) error
	seen    map[string]fileState // by file name
}

// fileState is a file as it was when last scanned.
type fileState struct {
	key  Key
	info fs.FileInfo
	// failed: it could not be taken in. What stood in the way may pass without any
	// trace in the file (permissions, too many open files), so it is tried again.
	failed bool
}

// scan compares the directory with what was seen last and reports the differences.
func (w *watch) scan() error {
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
			continue // gone since; reported below if it had been seen
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
				continue // its owner is unknown; read again next time
			}
			key = k
		}
		err = w.changed(key.Namespace, key.Name)
		w.seen[e.Name()] = fileState{key: key, info: info, failed: err != nil}
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

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
