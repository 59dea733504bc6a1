// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNone means that no report has been written for an ApplicationSet yet. A report without
// Applications, or a report that cannot be read, is not ErrNone.
var ErrNone = errors.New("no intermediate report yet")

// Store is the directory of intermediate reports. One process writes. Any number of processes may
// read.
type Store struct {
	dir string
}

// NewStore returns the store in dir, which need not exist yet for a reader.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Missing reports whether the directory certainly does not exist. Then no process writes reports.
func (s *Store) Missing() bool {
	_, err := os.Stat(s.dir)
	return errors.Is(err, fs.ErrNotExist)
}

// Read returns the report of an ApplicationSet. The error is [ErrNone] if no report exists, and
// another error if the report cannot be used. Read also accepts a report of a newer schema version,
// and ignores fields that this version does not have. A file of more than [MaxReportBytes] cannot
// be used. An entry that is out of bounds is left out and counted in Refused.
func (s *Store) Read(namespace, name string) (*Report, error) {
	k := Key{Namespace: namespace, Name: name}
	if !validKey(k) {
		return nil, fmt.Errorf("read intermediate report of %q: not the name of an ApplicationSet", k.String())
	}
	r, err := s.load(fileName(k))
	if err != nil {
		return nil, err
	}
	if r.Namespace != namespace || r.Name != name {
		return nil, fmt.Errorf("intermediate report %s: is of ApplicationSet %s/%s, not of %s", s.path(k), r.Namespace, r.Name, k)
	}
	return r, nil
}

func (s *Store) load(file string) (*Report, error) {
	path := filepath.Join(s.dir, file)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("read intermediate report: %w", err)
	}
	defer func() { _ = f.Close() }()
	size, err := check(f)
	if err != nil {
		return nil, fmt.Errorf("read intermediate report %s: %w", path, err)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read intermediate report %s: %w", path, err)
	}
	r, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode intermediate report %s: %w", path, err)
	}
	if r.SchemaVersion < 1 || !validKey(Key{Namespace: r.Namespace, Name: r.Name}) {
		return nil, fmt.Errorf("intermediate report %s: no report (schemaVersion %d, ApplicationSet %.64q)", path, r.SchemaVersion, r.Namespace+"/"+r.Name)
	}
	return r, nil
}

// check refuses a file that cannot be a report, before any of it is read, and returns the file's
// size. A report is never written in place, so the size does not change.
func check(f *os.File) (size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("not a regular file")
	}
	if info.Size() > MaxReportBytes {
		return 0, fmt.Errorf("it has %d bytes, more than the %d that a report may have", info.Size(), MaxReportBytes)
	}
	return info.Size(), nil
}

// Write replaces the report of an ApplicationSet in one step. A reader gets the old report or the
// new report, also after a crash. After any error, a reader gets the old report. It sets
// r.SchemaVersion.
func (s *Store) Write(r *Report) (err error) {
	k := Key{Namespace: r.Namespace, Name: r.Name}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write intermediate report of ApplicationSet %s: %w", k, err)
		}
	}()
	if !validKey(k) {
		return errors.New("not the name of an ApplicationSet")
	}
	data, err := Encode(r)
	if err != nil {
		return err
	}
	if len(data) > MaxReportBytes {
		return fmt.Errorf("%d bytes are more than the %d that a report can have", len(data), MaxReportBytes)
	}
	f, err := os.CreateTemp(s.dir, scratch+"*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // after the rename, no such file exists
	_, err = f.Write(data)
	// The containers of the pod may run as different users of one group.
	if err := errors.Join(err, f.Chmod(0o640), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path(k)); err != nil {
		return err
	}
	return s.syncDir()
}

// Remove deletes the report of an ApplicationSet. A missing report is no error.
func (s *Store) Remove(namespace, name string) error {
	k := Key{Namespace: namespace, Name: name}
	if !validKey(k) {
		return fmt.Errorf("remove intermediate report of %q: not the name of an ApplicationSet", k.String())
	}
	err := os.Remove(s.path(k))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove intermediate report of ApplicationSet %s: %w", k, err)
	}
	return nil
}

// List returns the ApplicationSets that have a file, sorted. Foreign files are left out. A
// directory that does not exist yet has none. If a file has a shortened name and its content cannot
// be read, the error names the file. List still returns the others.
func (s *Store) List() ([]Key, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list intermediate reports: %w", err)
	}
	var keys []Key
	var errs []error
	for _, e := range entries {
		k, ok, err := s.owner(e.Name())
		if err != nil {
			errs = append(errs, err)
		} else if ok {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	return keys, errors.Join(errs...)
}

// owner returns the ApplicationSet of a file. ok is false for a foreign file.
func (s *Store) owner(file string) (k Key, ok bool, err error) {
	k, whole, ok := parseName(file)
	if !ok || whole {
		return k, ok, nil
	}
	r, err := s.load(file)
	if errors.Is(err, ErrNone) {
		return Key{}, false, nil
	}
	if err != nil {
		return Key{}, false, err
	}
	k = Key{Namespace: r.Namespace, Name: r.Name}
	return k, fileName(k) == file, nil
}

// Prepare makes the directory ready for a writer. It creates the directory if necessary, removes
// the files that a crashed writer left behind, and makes sure that files can be written.
func (s *Store) Prepare() error {
	if err := os.MkdirAll(s.dir, 0o750); err != nil {
		return fmt.Errorf("create intermediate directory: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(s.dir, scratch+"*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("clean intermediate directory: %w", err)
	}
	return s.Check()
}

// Check reports whether a report could be written now. It writes a byte to a separate file and
// removes the file. It fails if the disk is full, or the directory is read-only or missing.
func (s *Store) Check() error {
	f, err := os.CreateTemp(s.dir, scratch+"check-*")
	if err != nil {
		return fmt.Errorf("intermediate directory is not writable: %w", err)
	}
	_, err = f.Write([]byte{'\n'})
	if err := errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("intermediate directory is not writable: %w", err)
	}
	return nil
}

// syncDir makes a rename survive a crash of the machine.
func (s *Store) syncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *Store) path(k Key) string { return filepath.Join(s.dir, fileName(k)) }

// WrittenAt returns when the report of an ApplicationSet was last written.
func (s *Store) WrittenAt(namespace, name string) (time.Time, error) {
	k := Key{Namespace: namespace, Name: name}
	if !validKey(k) {
		return time.Time{}, fmt.Errorf("intermediate report of %q: not the name of an ApplicationSet", k.String())
	}
	info, err := os.Stat(s.path(k))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, ErrNone
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look at intermediate report of ApplicationSet %s: %w", k, err)
	}
	return info.ModTime(), nil
}
