// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stamp returns the text that is kept about a part once it is built: its fingerprint, and the size of every file it consists
// of, so that a lost or damaged one is noticed. output is a file or a folder.
func stamp(fingerprint, output string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", fingerprint)
	err := filepath.WalkDir(output, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(output), path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s %d\n", filepath.ToSlash(name), info.Size())
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("stamp %s: %w", output, err)
	}
	return text.String(), nil
}

// current tells whether what lies at output is what the stamp in file says, and was made from what fingerprint stands for.
func current(file, fingerprint, output string) (bool, error) {
	kept, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the stamp: %w", err)
	}
	now, err := stamp(fingerprint, output)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && now == string(kept), err
}

// size adds up the files of a part.
func size(output string) (int64, error) {
	var total int64
	err := filepath.WalkDir(output, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
