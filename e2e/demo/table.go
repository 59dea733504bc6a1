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
	// gap is the pause between two checks for changes.
	gap = 50 * time.Millisecond
	// messageLength is the length to which a line shortens a message.
	messageLength = 160
)

// follow prints a line for every change of a hub Application until ctx ends.
func follow(ctx context.Context, view *scenario.View, print func(string)) {
	rows := map[string]string{}
	for ctx.Err() == nil {
		changed := view.Changed()
		for _, line := range update(rows, view.Applications("hub")) {
			print(line)
		}
		select {
		case <-ctx.Done():
		case <-changed:
			clock.Sleep(ctx, gap)
		}
	}
}

// update stores the Applications in rows, by name, and returns a line for every change.
func update(rows map[string]string, applications []scenario.Application) []string {
	var lines []string
	seen := map[string]bool{}
	for _, a := range applications {
		seen[a.Name] = true
		if text := line(a); rows[a.Name] != text {
			rows[a.Name] = text
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

func line(a scenario.Application) string {
	health := cmp.Or(a.Health, "-")
	if a.Deleting {
		health = "(deleting)"
	}
	message := strings.Join(strings.Fields(a.Message()), " ")
	if len(message) > messageLength {
		message = message[:messageLength] + "..."
	}
	return strings.TrimRight(fmt.Sprintf("  %-20s %-9s %-10s %-12s %-9s %s",
		a.Name, a.Target, cmp.Or(a.Sync, "-"), health, cmp.Or(scenario.Short(a.Revision), "-"), message), " ")
}
