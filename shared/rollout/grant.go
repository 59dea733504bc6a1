// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// Grant is what a rollout lets the ManifestWorks of one cluster carry.
type Grant struct {
	// Allow is which content.
	Allow Allow
	// Revisions are what the sources are pinned to, none for those of the hub's spec.
	Revisions []string
	// Contents are those that [AllowHub], [AllowJoin] and [AllowPromoted] are about.
	Contents []string
	// Number is that of the promoted version, 0 for none.
	Number int64
}

// Allow is which content a ManifestWork may carry.
type Allow int

// Values of [Allow].
const (
	// AllowAll: the hub's, whatever it is; there is no rollout.
	AllowAll Allow = iota
	// AllowHub: the hub's, which is the candidate.
	AllowHub
	// AllowJoin: the hub's, which is what is promoted: nothing that it carried before is that.
	AllowJoin
	// AllowCarried: what it carries. Another waits, and so does a new cluster.
	AllowCarried
	// AllowPromoted: what it carried before it was given the candidate.
	AllowPromoted
	// AllowNothing: no write at all.
	AllowNothing
)

// Grant returns what the works of a cluster may carry. The revisions of the candidate are
// promoted by the status alone, and never by what the hub's spec says.
func (s *Status) Grant(cluster string) Grant {
	if s.Phase == "" {
		return Grant{}
	}
	g := Grant{Allow: AllowCarried}
	if s.Promoted != nil {
		g.Revisions, g.Number = s.Promoted.Revisions, s.Promoted.Number
	}
	back := s.Phase == RollingBack || s.Phase == RolledBack
	_, following := slices.BinarySearch(s.Following, cluster)
	if following && (s.Phase == Idle || s.Phase == Progressing) {
		g.Revisions = nil
	}
	entry := s.Find(cluster)
	if entry == nil {
		return g
	}
	switch entry.State {
	case StateJoining:
		g.Allow, g.Contents = AllowJoin, entry.Contents
	case StatePending, StateUnavailable:
		if back && len(entry.From) > 0 {
			g.Allow, g.Contents = AllowPromoted, entry.From
		}
	default:
		if back || entry.State == StateRestored {
			g.Allow, g.Contents = AllowPromoted, entry.From
			break
		}
		return s.ofCandidate(g, entry, following)
	}
	return g
}

// ofCandidate is the grant of a cluster that was given the candidate.
func (s *Status) ofCandidate(g Grant, entry *Cluster, following bool) Grant {
	switch {
	case entry.State == StateSuperseded:
		g.Allow = AllowNothing
	case following:
		g.Allow, g.Revisions, g.Contents = AllowHub, nil, entry.Contents
	case s.Candidate == nil || len(s.Candidate.Revisions) == 0:
		g.Allow = AllowNothing
	default:
		g.Allow, g.Revisions, g.Contents = AllowHub, s.Candidate.Revisions, entry.Contents
	}
	return g
}

// Same reports whether two grants let the same be carried.
func (g Grant) Same(o Grant) bool {
	return g.Allow == o.Allow && g.Number == o.Number && slices.Equal(g.Revisions, o.Revisions) && slices.Equal(g.Contents, o.Contents)
}

// Find returns the entry of a cluster, nil for none.
func (s *Status) Find(cluster string) *Cluster {
	i, there := slices.BinarySearchFunc(s.Clusters, cluster, func(c Cluster, name string) int { return strings.Compare(c.Name, name) })
	if !there {
		return nil
	}
	return &s.Clusters[i]
}

// Governing returns the rollout of an ApplicationSet, nil for none: of several the oldest,
// and of those the first by name.
func Governing(list []ApplicationSetRollout, namespace, set string) *ApplicationSetRollout {
	var best *ApplicationSetRollout
	for i := range list {
		r := &list[i]
		if set == "" || r.Namespace != namespace || r.Spec.ApplicationSet != set {
			continue
		}
		if best == nil || r.CreationTimestamp.Before(&best.CreationTimestamp) ||
			r.CreationTimestamp.Equal(&best.CreationTimestamp) && r.Name < best.Name {
			best = r
		}
	}
	return best
}

// Waits says what a cluster waits for that may not carry what the hub says.
func (r *ApplicationSetRollout) Waits(cluster string) string {
	return fmt.Sprintf("the change waits: rollout %s %s; see kubectl -n %s describe asr %s", r.Name, r.Status.Waiting(cluster), r.Namespace, r.Name)
}

// Waiting says why a cluster has to wait for a change, in words that change with the reason alone.
func (s *Status) Waiting(cluster string) string {
	switch s.Phase {
	case Halted:
		return "is halted"
	case RollingBack, RolledBack:
		return "is rolled back"
	default:
	}
	if e := s.Find(cluster); e != nil && e.State == StatePending {
		return "waits until this cluster is available"
	}
	return "has not come to this cluster yet"
}
