// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
)

// logFailure logs a failure if its kind differs from the last one, and recovery once.
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
			"again", (absentIntervals * p.Options.Interval).String(), "reason", err.Error())
	default:
		keys := []any{"kind", kind}
		if kind == string(search.KindAccess) {
			keys = append(keys, "remedy", advice+"; "+adviceFineGrained)
		}
		p.Log.Error(err, "poll of search failed; reports keep their data and show since when it is stale", keys...)
	}
}

// kindOf names a failure of a poll: a kind of search's, or "other" for one on this
// side, such as a full disk.
func kindOf(err error) string {
	if kind := search.KindOf(err); kind != "" {
		return string(kind)
	}
	return "other"
}

// updateMetrics sets the gauges after a poll, and logs the changes. The caller holds mu.
func (p *Poller) updateMetrics() {
	stale, unread, hidden, resources, applications := 0, 0, 0, 0, 0
	var holding, leftOut []string
	var cut translate.Cut
	for c, st := range p.state.clusters {
		never := st.unread && len(st.Applications) == 0 && p.access.shows(c) && !p.absent() // a hub without search lacks nothing
		unread += count(never)
		stale += count(never || st.StaleSince != nil)
		hidden += count(!p.access.shows(c))
		if a, r := translate.Held(st.Applications); a+r > 0 {
			holding = append(holding, c)
			applications, resources = applications+a, resources+r
		}
		if st.leftOut != (translate.Cut{}) {
			leftOut = append(leftOut, c)
			cut.Add(st.leftOut)
		}
	}
	for _, f := range p.reports.written {
		cut.Add(f.cut)
	}
	clustersStale.Set(float64(stale))
	for state, n := range map[string]int{"unread": unread, "hidden": hidden, "held": len(holding), "suspect": len(p.apart.clusters), "left_out": len(leftOut)} {
		clusterStates.WithLabelValues(state).Set(float64(n))
	}
	heldNow.WithLabelValues("resources").Set(float64(resources))
	heldNow.WithLabelValues("applications").Set(float64(applications))
	leftOutNow.WithLabelValues("resources").Set(float64(cut.Resources))
	leftOutNow.WithLabelValues("applications").Set(float64(cut.Applications))
	leftOutNow.WithLabelValues("reports").Set(float64(len(p.reports.refused)))
	directoryBytes.Set(float64(p.reports.total))
	reportsNow.Set(float64(len(p.reports.written)))
	oddRows.Set(float64(p.round.oddRows))
	if text := p.changes.news("odd", p.round.odd); text != "" {
		p.Log.Info("left malformed rows of search out of the reports", "rows", text, "number", p.round.oddRows)
	}
	if text := p.changes.news("held", holding); text != "" {
		p.Log.Info("search no longer returns some resources or Applications; reports keep them for "+holdFor.String(), "clusters", text)
	}
	if text := p.changes.news("left out", leftOut); text != "" {
		p.Log.Error(nil, "managed clusters have more Applications and resources than fit into the reports, which leave out the rest",
			"clusters", text, "remedy", "split Applications of many thousand resources")
	}
}

// recordSuccess stores when a poll last succeeded, across restarts of the container.
func (p *Poller) recordSuccess(at time.Time) {
	lastSuccess.Set(float64(at.Unix()))
	if err := p.Files.SetLastSuccess(at); err != nil {
		failures.WithLabelValues("write").Inc()
		p.Log.V(1).Info("cannot store the time of the last successful poll", "error", err.Error())
	}
}
