// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
)

// lane returns the lane in which the removal of a work counts. An agent can change its works. So a
// removal that only the work asks for counts with its cluster, or as unproven.
func (s *subject) lane() Lane {
	app, w, why := s.facts.Application, s.work, s.fate.Why
	owner := w.Note.Group
	if s.fate.Own {
		owner = Group{Namespace: s.facts.Key.Namespace, Set: app.OwningApplicationSet()}
	}
	ofCluster := Lane{Kind: ClusterWithdrawn, Group: Group{Namespace: w.Namespace}}
	if ChangeOf(why) == Revoke {
		ofCluster.Kind = ClusterRevoked
	}
	switch revokes := ChangeOf(why) == Revoke; {
	case s.shared, s.observes(), s.abandoned():
		return Lane{}
	case !revokes && s.mark().Orphans() && why != Renamed: // the workload stays, an override holds the removal
		return Lane{}
	case why == LocalCluster, app != nil && !s.counts, s.carriesOther():
		return ofCluster
	case app == nil && revokes && (!w.Note.Known || why != NotBound):
		return ofCluster
	case app == nil && !w.Note.Known:
		return Lane{Kind: Unproven, Group: GroupOf(w.Work)}
	case revokes:
		return Lane{Kind: Admin, Group: owner}
	}
	return Lane{Kind: Tenant, Group: owner}
}

// carriesOther reports whether the work lost a permission for a project or namespace that the
// living Application does not ask for. An agent can write such a work.
func (s *subject) carriesOther() bool {
	app := s.facts.Application
	if app == nil {
		return false
	}
	switch s.fate.Why {
	case ProjectNotAllowed:
		return s.work.Project != payload.ProjectName(app)
	case NamespaceNotAllowed:
		existing, _ := s.work.Delivers()
		return existing.Namespace != payload.DeliveredNamespace(app)
	default:
		return false
	}
}

// override returns the override that applies to the removal of a work. An ApplicationSet has no
// effect after a lost permission. If only the work names an ApplicationSet, that one can hold, but
// not approve.
func (s *subject) override() Override {
	orphans := s.fate.Lane.Kind == Uncounted && s.mark().Orphans()
	if s.shared || s.observes() || s.abandoned() || s.fate.Lane.Kind == Uncounted && !orphans {
		return Override{}
	}
	best := Strongest(s.facts.Namespace.Override, s.facts.Hub.Override)
	set := s.set()
	if set == nil || !delays[ChangeOf(s.fate.Why)][OnApplicationSet] {
		return best
	}
	if set.Gone && best.Effect == Approve || set.Override.Effect == Approve && s.fate.Lane.Kind != Tenant {
		return best
	}
	return Strongest(best, set.Override)
}
