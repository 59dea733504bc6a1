// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import "open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"

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
	p.Log.Error(err, "poll failed; what is known is kept and dated", "kind", kind)
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

// odd logs rows that were left out, once per poll at most.
func (p *Poller) odd(rows []string) {
	if len(rows) == 0 {
		return
	}
	failures.WithLabelValues("odd").Add(float64(len(rows)))
	p.Log.V(1).Info("rows of search are not what they should be and were left out", "rows", names(rows))
}
