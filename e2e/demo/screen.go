// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// screen prints lines and, on a terminal, keeps a block of lines below them that
// is drawn anew at every change. Without a terminal the block is left out.
type screen struct {
	out      *os.File
	terminal bool

	mu    sync.Mutex
	block []string
	drawn int
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, terminal: term.IsTerminal(int(out.Fd()))}
}

// print writes text above the block.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.out, text)
	s.draw()
}

// show replaces the block.
func (s *screen) show(block []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.block = block
	s.draw()
}

// release leaves the block where it is and starts below it.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block, s.drawn = nil, 0
}

func (s *screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn) // up, and clear from there on
	}
	s.drawn = 0
}

func (s *screen) draw() {
	if !s.terminal {
		return
	}
	for _, line := range s.block {
		fmt.Fprintln(s.out, s.cut(line))
	}
	s.drawn = len(s.block)
}

// cut keeps a line from wrapping: a wrapped one would be erased by half.
func (s *screen) cut(line string) string {
	width, _, err := term.GetSize(int(s.out.Fd()))
	line = strings.ReplaceAll(line, "\n", " ")
	if runes := []rune(line); err == nil && len(runes) >= width && width > 0 {
		return string(runes[:width-1])
	}
	return line
}
