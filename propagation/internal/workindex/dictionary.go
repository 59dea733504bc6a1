// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"strings"
	"sync"
	"unique"
)

// dictionary numbers the texts that packed works have in common: keys, names of
// conditions and kinds, the revision that a whole ApplicationSet is at. It only
// grows, and no further than its limit; what comes later is packed as it is.
type dictionary struct {
	mu      sync.RWMutex
	numbers map[string]int
	texts   []string
}

const (
	dictionaryLimit = 8192
	// longest is the longest text that is taken.
	longest = 64
)

var words = &dictionary{numbers: map[string]int{}}

// takes reports whether a value is likely to repeat: it is short and no time.
func (d *dictionary) takes(s string) bool { return len(s) <= longest && !strings.Contains(s, ":") }

// number returns the number of s, a new one if need be and there is room.
func (d *dictionary) number(s string) (n int, known bool) {
	d.mu.RLock()
	n, known = d.numbers[s]
	d.mu.RUnlock()
	if known || len(s) > longest {
		return n, known
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, known = d.numbers[s]; known || len(d.texts) >= dictionaryLimit {
		return n, known
	}
	s = strings.Clone(s) // not the megabyte that it is a part of
	n = len(d.texts)
	d.numbers[s], d.texts = n, append(d.texts, s)
	return n, true
}

// word returns the text with a number.
func (d *dictionary) word(n int) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if n < 0 || n >= len(d.texts) {
		return ""
	}
	return d.texts[n]
}

// shared returns s as one string for all that are equal.
func shared(s string) string { return unique.Make(s).Value() }
