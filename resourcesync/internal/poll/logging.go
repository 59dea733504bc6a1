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

// news records a list about a subject and returns its names when they differ from the last
// ones, "" otherwise and when there are none.
func (c changes) news(subject string, list []string) string {
	slices.Sort(list)
	if text := names(list); c.differ(subject, text) {
		return text
	}
	return ""
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
