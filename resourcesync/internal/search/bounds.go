// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Rows come from managed clusters, and a cluster may use a collector without these limits.
const (
	maxName       = 253     // of an object in Kubernetes, or a part of its name
	maxUID        = 512     // with the cluster's name
	maxHosting    = 400     // "ApplicationSet/<namespace>/<name>"
	maxMissing    = 1 << 20 // several thousand resources
	maxConditions = 50
	maxMessage    = 512 // runes, the collector adds dots behind them
	dots          = "..."
)

// Small rows need several times the memory of their bytes. These are bytes of memory, with the spare
// room of slices and maps.
const (
	itemSize      = 250
	uidSize       = 24
	conditionSize = 48
	sharedSize    = 64 // without the text
)

// roomFor returns the memory that the rows of an answer of at most maxBytes may take. The smallest
// rows of the service take twice their bytes.
func roomFor(maxBytes int64) int { return int(maxBytes / 2 * 5) }

// check refuses a value that cannot be right, and that would not be right either
// when it were cut.
func (it *Item) check(field *string, value string) error {
	limit := maxName
	switch field {
	case &it.UID, &it.OwnerUID:
		limit = maxUID
	case &it.Hosting:
		limit = maxHosting
	case &it.Missing:
		if len(value) > maxMissing {
			return fmt.Errorf("%d bytes, want at most %d", len(value), maxMissing)
		}
		return nil // JSON, which its decoder checks
	}
	if len(value) > limit {
		return fmt.Errorf("%d bytes, want at most %d", len(value), limit)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return contract.IsControl(r, false) }) {
		return errors.New("control characters")
	}
	return nil
}

// plain reports whether a text is printable ASCII.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= unicode.MaxASCII })
}

// short cuts a message where the collector does, and replaces control characters.
func short(message string) string {
	if len(message) > maxMessage { // else it has no more runes either
		runes := 0
		cut := -1
		for i := range message {
			if runes == maxMessage {
				cut = i
			}
			if runes++; runes > maxMessage+len(dots) {
				message = message[:cut] + dots
				break
			}
		}
	}
	return strings.Map(func(r rune) rune {
		if contract.IsControl(r, true) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "\uFFFD"))
}
