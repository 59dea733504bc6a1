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

// scanEvery is how often the directory is scanned. A shorter interval gains nothing, because the
// data in a report is older than that when the report is written.
const scanEvery = time.Second

// Watch calls changed for every existing report, then calls listed once. Then it calls changed for
// each report that is created, replaced or deleted, within about a second, until ctx ends. The
// error for listed is why reports could not be found, or nil. Watch makes one call at a time. A
// call reports neither which change happened nor whether the report can be used, so the caller has
// to read the report. If changed returns an error, Watch calls it again after a second. The
// directory may be missing, and may be deleted and re-created.
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
	// failed is true if changed returned an error. The cause may end without a change of the file
	// (permissions, too many open files), so scan tries again.
	failed bool
}

// scan compares the directory with the last scan and reports the differences.
func (w *watch) scan() error {
	entries, err := os.ReadDir(w.store.dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("list intermediate reports: %w", err) // an error is not an empty directory
	}
	var errs []error
	present := make(map[string]bool, len(entries))
	for _, e := range entries {
		if _, _, ok := parseName(e.Name()); !ok {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // deleted since then, reported below if an earlier scan found it
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
				continue // its owner is unknown, the next scan reads it again
			}
			key = k
		}
		err = w.changed(key.Namespace, key.Name)
		w.seen[e.Name()] = fileState{key: key, info: info, failed: err != nil}
	}
	for file, last := range w.seen {
		if !present[file] {
			// If changed returns an error, the file stays in seen, so that the next scan tries
			// again.
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
