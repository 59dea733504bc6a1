// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNone tells that no report has been written for an ApplicationSet yet. It is
// not the same as a report without Applications, nor as one that cannot be read.
var ErrNone = errors.New("no intermediate report yet")

// Store is the directory of intermediate reports.
type Store struct {
	dir string
}

// NewStore returns the store in dir, which need not exist yet for a reader.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Read returns the report of an ApplicationSet. The error is [ErrNone] when there
// is none, and anything else when there is one that cannot be used.
func (s *Store) Read(namespace, name string) (*Report, error) {
	path := s.path(namespace, name)
	data, err := os.ReadFile(path) //nolint:gosec // the name is made by path below
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("read intermediate report of ApplicationSet %s/%s: %w", namespace, name, err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("decode intermediate report %s: %w", path, err)
	}
	if r.SchemaVersion < 1 || r.Namespace != namespace || r.Name != name {
		return nil, fmt.Errorf("intermediate report %s: schemaVersion %d of ApplicationSet %s/%s is not what belongs there", path, r.SchemaVersion, r.Namespace, r.Name)
	}
	return &r, nil
}

// Write replaces the report of an ApplicationSet in one step: a reader sees the
// old one or the new one, also after a crash.
func (s *Store) Write(r *Report) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write intermediate report of ApplicationSet %s/%s: %w", r.Namespace, r.Name, err)
		}
	}()
	r.SchemaVersion = SchemaVersion
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already after the rename
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path(r.Namespace, r.Name))
}

// Remove deletes the report of an ApplicationSet; one that is not there is no error.
func (s *Store) Remove(namespace, name string) error {
	err := os.Remove(s.path(namespace, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove intermediate report of ApplicationSet %s/%s: %w", namespace, name, err)
	}
	return nil
}

// path joins namespace and name with "_", which neither may contain.
func (s *Store) path(namespace, name string) string {
	return filepath.Join(s.dir, namespace+"_"+name+".json")
}
