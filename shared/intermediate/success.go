// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// success is an empty file. Its modification time is the time until which all reports are known to
// have been true. Readers of reports ignore the file.
const success = ".last-success"

// SetLastSuccess keeps when everything was last read from search.
func (s *Store) SetLastSuccess(at time.Time) error {
	path := filepath.Join(s.dir, success)
	err := os.Chtimes(path, at, at)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.WriteFile(path, nil, 0o600); err == nil {
			err = os.Chtimes(path, at, at)
		}
	}
	if err != nil {
		return fmt.Errorf("keep the time of the last success: %w", err)
	}
	return nil
}

// LastSuccess returns the time of the last success. It returns the zero time if no read has
// succeeded yet.
func (s *Store) LastSuccess() (time.Time, error) {
	info, err := os.Stat(filepath.Join(s.dir, success))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look at the time of the last success: %w", err)
	}
	return info.ModTime(), nil
}
