// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

const (
	// redraw is how often the ages in the table move on.
	redraw = 500 * time.Millisecond
	// redrawGap bounds how often changes redraw it.
	redrawGap = 50 * time.Millisecond
	rowFormat = "  %-20s %-9s %-10s %-12s %-9s %-5s %s"
	// messageLength is how much of a message a line shows without a terminal.
	messageLength = 160
)

// follow shows the hub's Applications until ctx ends: as a table on a terminal,
// otherwise as one line per change.
func follow(ctx context.Context, view *scenario.View, screen *screen) {
	rows := map[string]*row{}
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		changed := view.Changed()
		applications := view.Applications("hub")
		lines := update(rows, applications, time.Now())
		if screen.terminal {
			screen.show(table(rows, applications, time.Now()))
		} else {
			for _, line := range lines {
				screen.print(line)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
			clock.Sleep(ctx, redrawGap)
		}
	}
}

// row remembers when an Application last looked different.
type row struct {
	text string
	at   time.Time
}

// update takes the Applications into rows and returns a line for every change.
func update(rows map[string]*row, applications []scenario.Application, now time.Time) []string {
	var lines []string
	seen := map[string]bool{}
	for _, a := range applications {
		seen[a.Name] = true
		text := line(a, "")
		if r := rows[a.Name]; r == nil || r.text != text {
			rows[a.Name] = &row{text: text, at: now}
			lines = append(lines, text)
		}
	}
	for name := range rows {
		if !seen[name] {
			delete(rows, name)
			lines = append(lines, fmt.Sprintf("  %-20s is gone", name))
		}
	}
	return lines
}

func line(a scenario.Application, age string) string {
	health := cmp.Or(a.Health, "-")
	if a.Deleting {
		health = "(deleting)"
	}
	message := strings.Join(strings.Fields(a.Message()), " ")
	if len(message) > messageLength {
		message = message[:messageLength] + "..."
	}
	return strings.TrimRight(fmt.Sprintf(rowFormat, a.Name, a.Target, cmp.Or(a.Sync, "-"), health, cmp.Or(scenario.Short(a.Revision), "-"), age, message), " ")
}

// table returns the block of the terminal: a heading and a row per Application.
func table(rows map[string]*row, applications []scenario.Application, now time.Time) []string {
	lines := make([]string, 0, 2+len(applications))
	lines = append(lines, "", fmt.Sprintf(rowFormat, "APPLICATION", "CLUSTER", "SYNC", "HEALTH", "REVISION", "AGE", "MESSAGE"))
	for _, a := range applications {
		lines = append(lines, line(a, fmt.Sprintf("%ds", int(now.Sub(rows[a.Name].at).Seconds()))))
	}
	return lines
}
