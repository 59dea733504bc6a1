// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// keptLines is the number of last messages of a failed go command that are shown.
const keptLines = 30

// progress shows the progress of one part: on a terminal as a line that is redrawn, elsewhere as a line now
// and then. It reads the output of `go build -v`, counts packages and keeps the messages. The zero value only
// keeps messages.
type progress struct {
	out   io.Writer
	label string
	stop  chan struct{}
	drawn sync.WaitGroup

	mu       sync.Mutex
	compiled int
	partial  []byte
	kept     []string
}

// startProgress shows a line until finish is called. It ignores a closed output, so that the build continues.
func startProgress(out io.Writer, label string) *progress {
	p := &progress{out: out, label: label, stop: make(chan struct{})}
	every, format, began := 15*time.Second, "%s %d packages compiled, %s\n", time.Now()
	if file, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.label, every, format = "\r\x1b[K"+label, 500*time.Millisecond, strings.TrimSuffix(format, "\n")
		}
	}
	p.drawn.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				_, _ = fmt.Fprintf(out, format, p.label, p.compiled, time.Since(began).Round(time.Second)) // see above
				p.mu.Unlock()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// finish prints the last line.
func (p *progress) finish(outcome string) {
	close(p.stop)
	p.drawn.Wait()
	_, _ = fmt.Fprintln(p.out, p.label, outcome) // see above
}

// Write implements io.Writer.
func (p *progress) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partial = append(p.partial, data...)
	for {
		line, rest, found := bytes.Cut(p.partial, []byte("\n"))
		if !found {
			return len(data), nil
		}
		p.line(string(line))
		p.partial = rest
	}
}

// line distinguishes an import path from a message, which has blanks, and from a file name with a
// line number.
func (p *progress) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
	case line != "" && !strings.ContainsAny(line, " \t:"):
		p.compiled++
	default:
		p.kept = append(p.kept, line)
		p.kept = p.kept[max(0, len(p.kept)-keptLines):]
	}
}

// messages returns the last messages of the command, without the names of packages and indented.
func (p *progress) messages() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := p.kept
	if len(p.partial) > 0 {
		lines = append(lines, string(p.partial))
	}
	if len(lines) == 0 {
		return ""
	}
	return "; its last messages:\n    " + strings.Join(lines, "\n    ")
}
