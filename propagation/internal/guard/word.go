// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
	"time"
)

// Word is what an operator has decided about the withdrawals of a group.
type Word string

// Words of the annotation, by rising rank: of several that are in force the one of
// the highest rank counts.
const (
	None    Word = ""
	Approve Word = "approve" // no limit
	Hold    Word = "hold"    // nothing is withdrawn
	Undo    Word = "undo"    // as hold, and deleted Applications are let go
)

func (w Word) rank() int {
	return map[Word]int{Approve: 1, Hold: 2, Undo: 3}[w]
}

// How far ahead a word may be given.
const (
	longestApproval = 24 * time.Hour
	longestHold     = 90 * 24 * time.Hour
)

// Decision is a word with its end, the zero time for a word that has none since its
// value was no good.
type Decision struct {
	Word  Word
	Until time.Time
	// On names the object that has it, as kubectl does.
	On string
	// Gone: it was on an ApplicationSet that is gone.
	Gone bool
}

// Strongest returns the decision that counts of several that are in force.
func Strongest(decisions ...Decision) Decision {
	var best Decision
	for _, d := range decisions {
		if d.Word.rank() > best.Word.rank() {
			best = d
		}
	}
	return best
}

// Parse reads an annotation's value, "<word> until <RFC 3339>". A word whose time has
// passed is no decision. A value that cannot be followed holds everything, and the
// error says which values can be.
func Parse(value, on string, now time.Time) (Decision, error) {
	if strings.TrimSpace(value) == "" {
		return Decision{}, nil
	}
	bad := func(why string) (Decision, error) {
		return Decision{Word: Hold, On: on}, fmt.Errorf(
			`deletion-budget %.100q: %s; want "approve until <time>" (at most 24 h ahead), "hold until <time>" or "undo until <time>" (at most 90 days), with a time as %s`,
			value, why, now.Add(time.Hour).UTC().Format(time.RFC3339))
	}
	fields := strings.Fields(value)
	if len(fields) != 3 || fields[1] != "until" {
		return bad("it has not this form")
	}
	word, longest := Word(fields[0]), longestHold
	switch word {
	case Approve:
		longest = longestApproval
	case Hold, Undo:
	default:
		return bad(fmt.Sprintf("%.20q is no word for it", fields[0]))
	}
	until, err := time.Parse(time.RFC3339, fields[2])
	switch {
	case err != nil:
		return bad(fmt.Sprintf("%.40q is no time", fields[2]))
	case until.Sub(now) > longest:
		return bad("the time is too far ahead")
	case !until.After(now):
		return Decision{}, nil
	}
	return Decision{Word: word, Until: until.UTC(), On: on}, nil
}

// Effective returns the decision that counts for a group, of those on its ApplicationSet
// and on Namespaces: the strongest, but for that of an ApplicationSet that is gone, which
// no longer can be changed and yields to an approval.
func Effective(set Decision, gone bool, namespaces ...Decision) Decision {
	best := Strongest(namespaces...)
	if gone && best.Word == Approve {
		return best
	}
	return Strongest(best, set)
}
