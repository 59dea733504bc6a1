// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	logFolder = "log"
	// tailLines is the number of log lines in an error.
	tailLines = 12
	tailWidth = 250
)

// tail returns the last lines of a log for an error.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > tailWidth {
			line = line[:tailWidth] + "..."
		}
		lines[i] = "    " + line
	}
	return fmt.Sprintf("  the end of %s:\n%s", filepath.Base(path), strings.Join(lines, "\n"))
}
