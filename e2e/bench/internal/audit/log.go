// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Log is an audit log that grows. Its methods read the added lines, and one goroutine at a time may call
// them.
type Log struct {
	path    string
	file    *os.File
	reader  *bufio.Reader
	partial []byte // the beginning of an incomplete line
	entries []Entry
	err     error
}

// Open returns the log at path. The file does not have to exist yet.
func Open(path string) *Log { return &Log{path: path} }

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// read parses the lines that the API server has added.
func (l *Log) read() {
	if l.file == nil && l.err == nil {
		file, err := os.Open(l.path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		l.file, l.reader, l.err = file, bufio.NewReaderSize(file, 1<<20), err
	}
	for l.err == nil {
		chunk, err := l.reader.ReadBytes('\n')
		l.partial = append(l.partial, chunk...)
		if errors.Is(err, io.EOF) {
			return
		}
		entry, ok, parseErr := Parse(bytes.TrimSpace(l.partial))
		l.err = errors.Join(err, parseErr)
		l.partial = l.partial[:0]
		if ok {
			l.entries = append(l.entries, entry)
		}
	}
}

// Mark returns a position in the log for [Log.Since].
func (l *Log) Mark() int {
	l.read()
	return len(l.entries)
}

// Since returns the requests after a mark that match.
func (l *Log) Since(mark int, match func(*Entry) bool) ([]Entry, error) {
	l.read()
	var found []Entry
	for i := mark; i < len(l.entries); i++ {
		if match(&l.entries[i]) {
			found = append(found, l.entries[i])
		}
	}
	return found, l.err
}

// Last returns when the last matching request was answered, or the zero time if no request matches.
func (l *Log) Last(match func(*Entry) bool) time.Time {
	l.read()
	for i := len(l.entries) - 1; i >= 0; i-- {
		if match(&l.entries[i]) {
			return l.entries[i].Done
		}
	}
	return time.Time{}
}
