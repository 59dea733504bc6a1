// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limit computes how many members of a group may be removed at a time.
package limit

import (
	"fmt"
	"strconv"
	"strings"
)

// Percent is a percentage from 0% to 100%, and the value of a flag.
type Percent int

// String returns the percentage in the form that [Percent.Set] accepts.
func (p *Percent) String() string { return strconv.Itoa(int(*p)) + "%" }

// Set parses a percentage such as "25%".
func (p *Percent) Set(value string) error {
	digits, ok := strings.CutSuffix(value, "%")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > 100 {
		return fmt.Errorf("%q: want a percentage from 0%% to 100%%", value)
	}
	*p = Percent(n)
	return nil
}

// Limit is how many of a group may be removed at a time.
type Limit struct {
	// Percent is the part of the group that may be removed. 100 means no limit.
	Percent Percent
	// Least is the number that may be removed from any group, however small.
	Least int
}

// Of returns the limit for a group of n.
func (l Limit) Of(n int) int { return max(l.Least, (n*int(l.Percent)+99)/100) }

// Off reports whether l allows everything.
func (l Limit) Off() bool { return l.Percent >= 100 }
