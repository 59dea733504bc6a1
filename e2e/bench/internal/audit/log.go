// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Log follows an audit log while it grows.
type Log struct {
	path string

	mu      sync.Mutex
	entries []Entry
	err     error
}

// pause is how often the file is looked at.
const pause = 20 * time.Millisecond

// Follow reads the log at path until ctx ends. The file may be made later.
func Follow(ctx context.Context, path string) *Log {
	l := &Log{path: path}
	go l.follow(ctx)
	return l
}

func (l *Log) follow(ctx context.Context) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var file *os.File
	var reader *bufio.Reader
	var partial []byte
	defer func() {
		if file != nil {
			_ = file.Close() // it was only read
		}
	}()
	for {
		if file == nil {
			opened, err := os.Open(l.path)
			if err == nil {
				file, reader = opened, bufio.NewReaderSize(opened, 1<<20)
			} else if !errors.Is(err, os.ErrNotExist) {
				l.fail(err)
				return
			}
		}
		if file != nil {
			var err error
			if partial, err = l.drain(reader, partial); err != nil {
				l.fail(err)
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// drain reads what is there and returns the beginning of a line that is not whole yet.
func (l *Log) drain(reader *bufio.Reader, partial []byte) ([]byte, error) {
	for {
		chunk, err := reader.ReadBytes('\n')
		partial = append(partial, chunk...)
		if errors.Is(err, io.EOF) {
			return partial, nil
		}
		if err != nil {
			return nil, err
		}
		entry, ok, err := Parse(bytes.TrimSpace(partial))
		if err != nil {
			return nil, err
		}
		partial = partial[:0]
		if ok {
			l.mu.Lock()
			l.entries = append(l.entries, entry)
			l.mu.Unlock()
		}
	}
}

func (l *Log) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// Mark returns a place in the log for [Log.Since].
func (l *Log) Mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Since returns the requests after a mark that match.
func (l *Log) Since(mark int, match func(*Entry) bool) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []Entry
	for i := mark; i < len(l.entries); i++ {
		if match(&l.entries[i]) {
			found = append(found, l.entries[i])
		}
	}
	return found, l.err
}

// Last returns when the last request that matches was answered; zero when none was.
func (l *Log) Last(match func(*Entry) bool) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.entries) - 1; i >= 0; i-- {
		if match(&l.entries[i]) {
			return l.entries[i].Done
		}
	}
	return time.Time{}
}
