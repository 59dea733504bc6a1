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

// keptLines is how many of the last messages of a failed go command are shown.
const keptLines = 30

// progress shows how far one part is: on a terminal as a line that is redrawn, elsewhere as a line now and then. It reads what
// `go build -v` writes: packages and downloads are counted, the rest is errors. Its zero value only keeps those.
type progress struct {
	out         io.Writer
	label, main string
	terminal    bool
	began       time.Time
	stop        chan struct{}
	drawer      sync.WaitGroup

	mu                          sync.Mutex
	total, compiled, downloaded int
	linking                     bool
	partial                     []byte
	kept                        []string
}

// startProgress shows a line until it is finished. main is the package after which only the linking is left.
func startProgress(out io.Writer, label, main string) *progress {
	p := &progress{out: out, label: label, main: main, began: time.Now(), stop: make(chan struct{})}
	every := 15 * time.Second
	if file, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal, every = true, 500*time.Millisecond
		}
	}
	p.drawer.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				text := fmt.Sprintf("%s, %s", p.text(), time.Since(p.began).Round(time.Second))
				p.mu.Unlock()
				p.show(text, !p.terminal)
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// show writes the line. A closed output is no reason to stop building.
func (p *progress) show(text string, last bool) {
	line := p.label + " " + text
	if p.terminal {
		line = "\r\x1b[K" + line
	}
	if last {
		line += "\n"
	}
	_, _ = io.WriteString(p.out, line) // see above
}

// finish leaves a last line.
func (p *progress) finish(outcome string) {
	close(p.stop)
	p.drawer.Wait()
	p.show(outcome, true)
}

// expect says how many packages there are to compile.
func (p *progress) expect(packages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = packages
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

// line tells an import path from a message, which has blanks, or a file name with a line number.
func (p *progress) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		p.downloaded++
	case line != "" && !strings.ContainsAny(line, " \t:"):
		p.compiled++
		p.linking = line == p.main
	default:
		p.kept = append(p.kept, line)
		p.kept = p.kept[max(0, len(p.kept)-keptLines):]
	}
}

// text says in a few words how far the build is.
func (p *progress) text() string {
	packages := fmt.Sprintf("%d of %d packages compiled", p.compiled, max(p.total, p.compiled))
	switch {
	case p.linking:
		return packages + ", linking"
	case p.compiled > 0:
		return packages
	case p.downloaded > 0:
		return fmt.Sprintf("%d modules downloaded", p.downloaded)
	}
	return "starting"
}

// messages returns the end of what the command wrote beside names of packages, indented under what precedes it.
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
