// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"
)

// Effect is the effect of an override on removals.
type Effect string

// The values are in rising order: if several overrides apply, the highest one counts.
const (
	None    Effect = ""
	Approve Effect = "approve" // no limit
	Hold    Effect = "hold"    // nothing is removed
	Undo    Effect = "undo"    // as hold, and deleted Applications are released
)

func (e Effect) rank() int {
	return map[Effect]int{Approve: 1, Hold: 2, Undo: 3}[e]
}

// Keeps reports whether the effect holds all removals.
func (e Effect) Keeps() bool { return e == Hold || e == Undo }

// These are the longest times until an override expires.
const (
	longestApproval = 24 * time.Hour
	longestHold     = 90 * 24 * time.Hour
)

// Override is an operator's decision about removals, with its expiry. An override with an invalid value has the zero time.
type Override struct {
	Effect Effect
	Until  time.Time
	// On names the object that has the annotation, in kubectl's form.
	On string
	// Gone is true if the annotation was on an ApplicationSet that is deleted.
	Gone bool
}

// Strongest returns the override that counts among several.
func Strongest(overrides ...Override) Override {
	var best Override
	for _, r := range overrides {
		if r.Effect.rank() > best.Effect.rank() {
			best = r
		}
	}
	return best
}

// ParseOverride parses the value of the annotation, "<effect> until <RFC 3339>". An expired value is
// no override. An invalid value holds everything, and the error lists the valid ones. A time that is
// too far ahead becomes valid later, so the error has the time when the override takes effect.
func ParseOverride(value, on string, now time.Time) (Override, error) {
	if strings.TrimSpace(value) == "" {
		return Override{}, nil
	}
	bad := func(why string) (Override, error) {
		return Override{Effect: Hold, On: on}, fmt.Errorf(
			`deletion-budget %.100q: %s; want "approve until <time>" (at most 24 h ahead), "hold until <time>" or "undo until <time>" (at most 90 days), with a time as %s`,
			value, why, now.Add(time.Hour).UTC().Format(time.RFC3339))
	}
	fields := strings.Fields(value)
	if len(fields) != 3 || fields[1] != "until" {
		return bad("it has not this form")
	}
	word, longest := Effect(fields[0]), longestHold
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
		valid := until.Add(-longest).UTC()
		hold, err := bad("the time is too far ahead, so it holds until " + valid.Format(time.RFC3339) + ", and takes effect then")
		hold.Until = valid
		return hold, err
	case !until.After(now):
		return Override{}, nil
	}
	return Override{Effect: word, Until: until.UTC(), On: on}, nil
}
