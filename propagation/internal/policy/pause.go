// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The modes of the pause annotation are in rising order.
const (
	PauseDelivery = "delivery" // ManifestWorks stay unchanged
	PauseSync     = "sync"     // also, the managed cluster's Argo CD does not sync by itself
)

// Pause keeps an Application's ManifestWorks unchanged. The zero Pause does not.
type Pause struct {
	Mode string
	// Until is when the pause expires, or the zero time for never.
	Until time.Time
	// By names the annotation or claim, and the object that has it.
	By string
	// Problem describes why the value is invalid. An invalid value counts as [PauseDelivery].
	Problem string
}

// ParsePause parses the value of an annotation or claim: "delivery" or "sync", optionally with "
// until <RFC 3339>". An expired pause is the zero Pause.
func ParsePause(value, by string, now time.Time) Pause {
	fields := strings.Fields(value)
	if len(fields) == 0 {
		return Pause{}
	}
	p := Pause{Mode: fields[0], By: by}
	good, passed := p.Mode == PauseDelivery || p.Mode == PauseSync, false
	switch {
	case len(fields) == 3 && fields[1] == "until":
		until, err := time.Parse(time.RFC3339, fields[2])
		good = good && err == nil
		p.Until, passed = until.UTC(), !until.After(now) // the zero time has also passed
	case len(fields) != 1:
		good = false
	}
	if !good {
		return Pause{Mode: PauseDelivery, By: by, Problem: fmt.Sprintf(
			`paused %.100q: want delivery or sync, optionally " until " and a time as 2026-11-21T12:00:00Z`, value)}
	}
	if passed {
		return Pause{}
	}
	return p
}

// StrongestPause returns the pause that counts among several.
func StrongestPause(pauses ...Pause) Pause {
	var best Pause
	for _, p := range pauses {
		if best.Mode == "" || best.Mode != PauseSync && p.Mode == PauseSync {
			if p.Mode != "" {
				best = p
			}
		}
	}
	return best
}

// Left returns the remaining time of the pause, or 0 if only an operator ends it.
func (p Pause) Left(now time.Time) time.Duration {
	if p.Until.IsZero() {
		return 0
	}
	return max(p.Until.Sub(now), time.Millisecond)
}

// Decision returns the report of a paused Application with a change that waits.
func (p Pause) Decision(what string) Decision {
	if p.Problem != "" {
		return *RefuseAsWarning(ReasonInvalidTarget, contract.DeliveryPaused+" by %s, whose value is invalid: %s", p.By, p.Problem)
	}
	until := ""
	if !p.Until.IsZero() {
		until = " until " + p.Until.Format(time.RFC3339)
	}
	return *RefuseAsWarning(ReasonPaused, contract.DeliveryPaused+" (%s) by %s%s: %s", p.Mode, p.By, until, what)
}
