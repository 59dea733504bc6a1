// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
)

// keptLines is how many of the last lines of a failed go command are shown.
const keptLines = 30

// goOutput reads what `go build -v` writes: it counts packages and downloads and keeps the rest, which is errors.
type goOutput struct {
	// main is the package whose name, once it comes, means that only it and the linking are left.
	main string
	// total is how many packages there are to compile; 0 while nobody has counted them.
	total int
	// report is called with a text about how far the build is, if it is not nil.
	report func(string)

	partial    []byte
	downloaded int
	compiled   int
	linking    bool
	kept       []string
}

// Write implements io.Writer.
func (o *goOutput) Write(data []byte) (int, error) {
	o.partial = append(o.partial, data...)
	for {
		line, rest, found := bytes.Cut(o.partial, []byte("\n"))
		if !found {
			return len(data), nil
		}
		o.line(string(line))
		o.partial = rest
	}
}

func (o *goOutput) line(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.downloaded++
	case isPackage(line):
		o.compiled++
		o.linking = line == o.main
	default:
		o.kept = append(o.kept, line)
		if len(o.kept) > keptLines {
			o.kept = o.kept[1:]
		}
	}
	if o.report != nil {
		o.report(o.progress())
	}
}

// isPackage tells an import path from a message: messages have blanks, or a file name with a line number.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:")
}

// progress says in a few words how far the build is.
func (o *goOutput) progress() string {
	packages := fmt.Sprintf("%d of %d packages compiled", o.compiled, max(o.total, o.compiled))
	switch {
	case o.linking:
		return packages + ", linking"
	case o.compiled > 0:
		return packages
	case o.downloaded > 0:
		return fmt.Sprintf("%d modules downloaded", o.downloaded)
	}
	return "starting"
}

// lastLines returns the end of what the command said, each line indented under what precedes it.
func (o *goOutput) lastLines() string {
	lines := o.kept
	if len(o.partial) > 0 {
		lines = append(lines, string(o.partial))
	}
	if len(lines) == 0 {
		return ""
	}
	return "; its last words:\n    " + strings.Join(lines, "\n    ")
}
