// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Percent is a percentage from 0% to 100%, and the value of a flag.
type Percent int

// String returns the percentage as [Percent.Set] takes it.
func (p *Percent) String() string { return strconv.Itoa(int(*p)) + "%" }

// Set reads a percentage such as "25%".
func (p *Percent) Set(value string) error {
	digits, ok := strings.CutSuffix(value, "%")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > 100 {
		return fmt.Errorf("%q: want a percentage from 0%% to 100%%", value)
	}
	*p = Percent(n)
	return nil
}

// Limit is how many of a group's deliveries may be withdrawn within a window.
type Limit struct {
	// Percent of the group; 100 is no limit.
	Percent Percent
	// Least may be withdrawn of any group, however small.
	Least int
}

// Of returns the limit of a group of n deliveries.
func (l Limit) Of(n int) int { return max(l.Least, (n*int(l.Percent)+99)/100) }

func (l Limit) off() bool { return l.Percent >= 100 }

// Settings say when withdrawals are held.
type Settings struct {
	// Group is the limit of each group, Hub that of all together.
	Group, Hub Limit
	// Window is the time within which withdrawals add up.
	Window time.Duration
}

// Off reports whether nothing is limited.
func (s Settings) Off() bool { return s.Group.off() && s.Hub.off() }

// How long what is to be withdrawn is gathered before it is judged. The ApplicationSet
// controller deletes some twenty Applications a second, so that a fixed wait would let
// the first part of a mass deletion go as if it were all.
const (
	// gather: as few as every group may lose go together after this.
	gather = time.Second
	// settle: more are judged once no other has joined them for so long,
	settle = 5 * time.Second
	// longest: or once the first has waited for so long.
	longest = time.Minute
)
