// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// changes is what was last logged about each subject, so that a poll logs only what has
// changed since the one before.
type changes map[string]string

// differ records a text about a subject and reports whether it differs from the last one,
// which is "" at first.
func (c changes) differ(subject, text string) bool {
	before := c[subject]
	c[subject] = text
	return before != text
}

// subjectFailure is that of the kind of failure of the last poll.
const subjectFailure = "failure"

// logFailure logs a failure when its kind differs from that of the last one, and
// recovery once.
func (p *Poller) logFailure(err error) {
	kind := ""
	if err != nil {
		kind = kindOf(err)
	}
	switch {
	case !p.changes.differ(subjectFailure, kind):
		if err != nil {
			p.Log.V(1).Info("poll of search still fails", "kind", kind, "error", err.Error())
		}
	case err == nil:
		p.Log.Info("search answers again")
	case p.absent():
		p.Log.Info("no search service found; reports are built from feedback alone until one answers",
			"probeInterval", p.Options.ProbeInterval.String(), "reason", err.Error())
	default:
		keys := []any{"kind", kind}
		if kind == string(search.KindAccess) {
			keys = append(keys, "remedy", advice+"; "+adviceFineGrained)
		}
		p.Log.Error(err, "poll of search failed; reports keep their data and show since when it is stale", keys...)
	}
}

// absent reports whether search has never been there.
func (p *Poller) absent() bool {
	kind := p.changes[subjectFailure]
	return !p.reached && (kind == string(search.KindAbsent) || kind == string(search.KindUnreachable))
}

// kindOf names a failure of a poll: a kind of search's, or "other" for one on this
// side, such as a full disk.
func kindOf(err error) string {
	if kind := search.KindOf(err); kind != "" {
		return string(kind)
	}
	return "other"
}

// addOdd records rows that were left out.
func (r *round) addOdd(rows []string) {
	r.oddRows += len(rows)
	if room := maxNamed - len(r.odd); room > 0 {
		r.odd = append(r.odd, rows[:min(room, len(rows))]...)
	}
}

// maxNamed is how many odd rows are named: enough to find the fault.
const maxNamed = 20

// logOdd names the rows that were left out when they differ from those logged last.
func (p *Poller) logOdd() {
	oddRows.Set(float64(p.round.oddRows))
	slices.Sort(p.round.odd)
	text := names(p.round.odd)
	if p.changes.differ("odd", text) && text != "" {
		p.Log.Info("left malformed rows of search out of the reports", "rows", text, "number", p.round.oddRows)
	}
}

// logHeld names the clusters of which something is held, when they differ from those
// logged last.
func (p *Poller) logHeld(clusters []string) {
	slices.Sort(clusters)
	text := names(clusters)
	if p.changes.differ("held", text) && text != "" {
		p.Log.Info("search no longer returns some resources or Applications; reports keep them for "+holdFor.String(), "clusters", text)
	}
}

// logLeftOut names the clusters of which something does not fit, when they differ from
// those logged last.
func (p *Poller) logLeftOut(clusters []string) {
	slices.Sort(clusters)
	text := names(clusters)
	if p.changes.differ("left out", text) && text != "" {
		p.Log.Error(nil, "managed clusters have more Applications and resources than fit into the reports, which leave out the rest",
			"clusters", text, "remedy", "split Applications of many thousand resources")
	}
}
