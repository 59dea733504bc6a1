// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"unicode/utf8"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// messageLimits are the lengths, in characters, to which messages are shortened. There are few
// steps, so that a report near its limit does not rewrite every message on every change. A message
// shorter than the last step would have too little information.
var messageLimits = [...]int{1024, 768, 512, 384, 256, 192, 128, 96, 64}

const ellipsis = "…"

// truncateRows shortens messages, then leaves rows out, until the rest fits into budget.
func truncateRows(rows []*Row, budget int) []*Row {
	if limit, fits := longestLimit(rows, budget); fits {
		return shorten(rows, limit)
	}
	rows = dropRows(rows, budget)
	limit, _ := longestLimit(rows, budget) // a huge row that was dropped leaves room for longer messages
	return shorten(rows, limit)
}

// longestLimit returns the largest of messageLimits under which rows fit into budget, or the
// last one when they do under none.
func longestLimit(rows []*Row, budget int) (limit int, fits bool) {
	var totals [len(messageLimits)]int
	for _, r := range rows {
		r.addShortened(&totals)
	}
	for i, limit := range messageLimits {
		if totals[i] <= budget {
			return limit, true
		}
	}
	return messageLimits[len(messageLimits)-1], false
}

// dropRows keeps the rows that fit with the shortest messages: the worst ones first, and equal ones
// in their order. A row that does not fit is skipped, and later ones may fit.
func dropRows(rows []*Row, budget int) []*Row {
	keep := make([]bool, len(rows))
	kept := 0
	for priority := range priorities {
		for i, r := range rows {
			if r.priority() != priority {
				continue
			}
			var totals [len(messageLimits)]int
			r.addShortened(&totals)
			if needs := totals[len(messageLimits)-1]; needs <= budget {
				budget -= needs
				keep[i] = true
				kept++
			}
		}
	}
	out := make([]*Row, 0, kept)
	for i, r := range rows {
		if keep[i] {
			out = append(out, r)
		}
	}
	return out
}

// priorities is the number of values of priority.
const priorities = 3

// priority returns how much a reader would miss the row: 0 most, 2 least.
func (r *Row) priority() int {
	switch {
	case r.HealthStatus != argocd.HealthHealthy:
		return 0
	case r.SyncStatus != argocd.SyncSynced || len(r.Conditions) > 0:
		return 1
	default:
		return 2
	}
}

// addShortened adds the bytes of the row, and of the comma after it, under each limit.
func (r *Row) addShortened(totals *[len(messageLimits)]int) {
	for i := range totals {
		totals[i] += r.bytes + 1
	}
	for i := range r.Conditions {
		savings(r.Conditions[i].Message, totals)
	}
}

// savings subtracts from totals the bytes that shortening a message to each limit saves. It reads
// the message once.
func savings(message string, totals *[len(messageLimits)]int) {
	const last = len(messageLimits) - 1
	if len(message) <= messageLimits[last] {
		return
	}
	var at [len(messageLimits)]int // bytes of the JSON up to each limit
	step, runes, bytes := last, 0, 0
	for i := 0; i < len(message); runes++ {
		if step >= 0 && runes == messageLimits[step] {
			at[step] = bytes
			step--
		}
		c := message[i]
		if c < utf8.RuneSelf {
			bytes += asciiBytes[c]
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(message[i:])
		bytes += runeBytes(r, n)
		i += n
	}
	for i := step + 1; i <= last; i++ {
		totals[i] -= bytes - at[i] - len(ellipsis)
	}
}

// asciiBytes is how long encoding/json makes each ASCII character.
var asciiBytes = func() (t [utf8.RuneSelf]int) {
	for c := range t {
		t[c] = jsonBytes(string(rune(c))) - 2
	}
	return t
}()

func runeBytes(r rune, n int) int {
	if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && n == 1 {
		return len(`\u2028`)
	}
	return n
}

// shorten returns rows with messages of at most limit characters. Rows that are short enough keep
// their pointers.
func shorten(rows []*Row, limit int) []*Row {
	out := make([]*Row, len(rows))
	for i, r := range rows {
		out[i] = r.shorten(limit)
	}
	return out
}

func (r *Row) shorten(limit int) *Row {
	short := r
	for i, c := range r.Conditions {
		m, cut := clip(c.Message, limit)
		if !cut {
			continue
		}
		if short == r {
			copied := r.ClusterCondition
			copied.Conditions = append([]v1alpha1.Condition(nil), r.Conditions...)
			short = &Row{ClusterCondition: copied}
		}
		short.Conditions[i].Message = m
	}
	if short != r {
		short.bytes = jsonBytes(short.ClusterCondition)
	}
	return short
}

// clip cuts a message that has more than limit characters and marks the cut.
func clip(message string, limit int) (clipped string, cut bool) {
	if len(message) <= limit {
		return message, false
	}
	runes := 0
	for i := range message {
		if runes == limit {
			return message[:i] + ellipsis, true
		}
		runes++
	}
	return message, false
}
