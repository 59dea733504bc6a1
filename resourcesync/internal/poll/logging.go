// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
)

// say logs a failure when it is of another kind than the one before, and its end.
func (p *Poller) say(err error) {
	if err == nil {
		if p.failing != "" {
			p.Log.Info("search answers")
		}
		p.failing = ""
		return
	}
	kind := kindOf(err)
	if kind == p.failing {
		p.Log.V(1).Info("still failing", "kind", kind, "error", err.Error())
		return
	}
	p.failing = kind
	if p.absent() {
		p.Log.Info("there is no search service here: reports come from feedback alone; it is looked for again now and then",
			"every", p.Options.ProbeInterval.String(), "reason", err.Error())
		return
	}
	keys := []any{"kind", kind}
	if kind == string(search.KindAccess) {
		keys = append(keys, "remedy", advice+"; "+adviceFineGrained)
	}
	p.Log.Error(err, "poll failed; what is known is kept and dated", keys...)
}

// absent tells whether search has never been there.
func (p *Poller) absent() bool {
	return !p.reached && (p.failing == string(search.KindAbsent) || p.failing == string(search.KindUnreachable))
}

// kindOf names a failure of a poll: a kind of search's, or "other" for one on this
// side, such as a full disk.
func kindOf(err error) string {
	if kind := search.KindOf(err); kind != "" {
		return string(kind)
	}
	return "other"
}

// odd notes rows that were left out; mu is held.
func (p *Poller) odd(rows []string) {
	p.tally.oddRows += len(rows)
	if room := maxNamed - len(p.tally.odd); room > 0 {
		p.tally.odd = append(p.tally.odd, rows[:min(room, len(rows))]...)
	}
}

// maxNamed is how many odd rows are named: enough to find the fault.
const maxNamed = 20

// logOdd names the rows that were left out when they are others than before.
func (p *Poller) logOdd() {
	oddRows.Set(float64(p.tally.oddRows))
	slices.Sort(p.tally.odd)
	said := names(p.tally.odd)
	if said != p.oddSaid && said != "" {
		p.Log.Info("rows of search are not what they should be and were left out", "rows", said, "number", p.tally.oddRows)
	}
	p.oddSaid = said
}

// logHeld tells what is held from this poll on.
func (p *Poller) logHeld() {
	if len(p.tally.held) == 0 {
		return
	}
	slices.Sort(p.tally.held)
	p.Log.Info("search leaves out what nothing proves to be gone; it stays in the reports until that is proven or has lasted "+believeAfter.String(),
		"clusters", names(p.tally.held))
}

// logLeftOut tells what does not fit, when the clusters are others than before.
func (p *Poller) logLeftOut(clusters []string) {
	said := names(clusters)
	if said != p.leftSaid && said != "" {
		p.Log.Error(nil, "managed clusters have more Applications and resources than fit into the reports; the rest is left out",
			"clusters", said, "remedy", "see what is deployed there; Applications of many thousand resources are better split")
	}
	p.leftSaid = said
}
