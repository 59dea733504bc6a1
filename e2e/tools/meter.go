// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	redrawEvery = 500 * time.Millisecond // on a terminal
	repeatEvery = 15 * time.Second       // in a log
	// eraseLine moves a terminal to the start of the line and empties it.
	eraseLine = "\r\x1b[K"
)

// meter shows how far one part is: on a terminal as a line that is redrawn, elsewhere as a line now and then.
type meter struct {
	out      io.Writer
	terminal bool
	label    string
	began    time.Time

	mutex  sync.Mutex
	text   string
	stop   chan struct{}
	drawer sync.WaitGroup
}

func newMeter(out io.Writer, label string) *meter {
	return &meter{out: out, terminal: isTerminal(out), label: label, began: time.Now(), text: "starting"}
}

// isTerminal tells whether out is something a person looks at.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// start makes the meter show itself until finish is called.
func (m *meter) start() {
	m.stop = make(chan struct{})
	every := repeatEvery
	if m.terminal {
		every = redrawEvery
		m.draw()
	}
	m.drawer.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.draw()
			case <-m.stop:
				return
			}
		}
	})
}

// update changes what the meter says.
func (m *meter) update(text string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.text = text
}

func (m *meter) draw() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	line := fmt.Sprintf("%s %s, %s", m.label, m.text, m.elapsed())
	if m.terminal {
		say(m.out, "%s%s", eraseLine, line)
		return
	}
	say(m.out, "%s\n", line)
}

// finish stops the meter and leaves a last line.
func (m *meter) finish(text string) {
	if m.stop != nil {
		close(m.stop)
		m.drawer.Wait()
	}
	if m.terminal {
		say(m.out, "%s", eraseLine)
	}
	say(m.out, "%s %s\n", m.label, text)
}

// elapsed is the time since the meter was made, in whole seconds.
func (m *meter) elapsed() time.Duration {
	return time.Since(m.began).Round(time.Second)
}

// say writes text for people. That nobody can read it any more is no reason to stop building.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}
