// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// logFailure logs a failure when its kind differs from that of the last one, and
// recovery once.
func (p *Poller) logFailure(err error) {
	if err == nil {
		if p.failingKind != "" {
			p.Log.Info("search answers again")
		}
		p.failingKind = ""
		return
	}
	kind := kindOf(err)
	if kind == p.failingKind {
		p.Log.V(1).Info("poll of search still fails", "kind", kind, "error", err.Error())
		return
	}
	p.failingKind = kind
	if p.absent() {
		p.Log.Info("no search service found; reports are built from feedback alone until one answers",
			"probeInterval", p.Options.ProbeInterval.String(), "reason", err.Error())
		return
	}
	keys := []any{"kind", kind}
	if kind == string(search.KindAccess) {
		keys = append(keys, "remedy", advice+"; "+adviceFineGrained)
	}
	p.Log.Error(err, "poll of search failed; reports keep their data and show since when it is stale", keys...)
}

// absent reports whether search has never been there.
func (p *Poller) absent() bool {
	return !p.reached && (p.failingKind == string(search.KindAbsent) || p.failingKind == string(search.KindUnreachable))
}

// kindOf names a failure of a poll: a kind of search's, or "other" for one on this
// side, such as a full disk.
func kindOf(err error) string {
	if kind := search.KindOf(err); kind != "" {
		return string(kind)
	}
	return "other"
}

// addOddLocked records rows that were left out. The caller holds mu.
func (p *Poller) addOddLocked(rows []string) {
	p.outcome.oddRows += len(rows)
	if room := maxNamed - len(p.outcome.odd); room > 0 {
		p.outcome.odd = append(p.outcome.odd, rows[:min(room, len(rows))]...)
	}
}

// maxNamed is how many odd rows are named: enough to find the fault.
const maxNamed = 20

// logOdd names the rows that were left out when they differ from those logged last.
func (p *Poller) logOdd() {
	oddRows.Set(float64(p.outcome.oddRows))
	slices.Sort(p.outcome.odd)
	text := names(p.outcome.odd)
	if text != p.loggedOdd && text != "" {
		p.Log.Info("left malformed rows of search out of the reports", "rows", text, "number", p.outcome.oddRows)
	}
	p.loggedOdd = text
}

// logHeld logs what is held from this poll on.
func (p *Poller) logHeld() {
	if len(p.outcome.held) == 0 {
		return
	}
	slices.Sort(p.outcome.held)
	p.Log.Info("search no longer returns some resources; reports keep them until search confirms that they are gone, or for "+acceptAbsenceAfter.String(),
		"clusters", names(p.outcome.held))
}

// logLeftOut logs what does not fit, when the clusters differ from those logged last.
func (p *Poller) logLeftOut(clusters []string) {
	text := names(clusters)
	if text != p.loggedLeftOut && text != "" {
		p.Log.Error(nil, "managed clusters have more Applications and resources than fit into the reports, which leave out the rest",
			"clusters", text, "remedy", "split Applications of many thousand resources")
	}
	p.loggedLeftOut = text
}
