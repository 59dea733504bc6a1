// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// Each of the mutants breaks one rule, as an earlier version did. Table tests cover the rules that the
// simulation finds seldom or never. These rules concern the lanes of tenants, administrators and unproven
// works, and one delivery for each Application. They also concern the owning set of a work, the writer of a
// mark, a name for each identity, and renamed works.
var mutants = map[string]struct {
	mutant
	found string // prefix of the simulation's report
}{
	"a revocation asks the present wish only": {found: "REVOKE", mutant: mutant{facts: func(f *decide.Facts) {
		for i := range f.Works {
			w := &f.Works[i]
			if app := f.Application; app == nil || app.DeletionTimestamp != nil || app.Labels[contract.PullLabel] != "true" || w.Namespace != app.Annotations[contract.ClusterAnnotation] {
				w.May = decide.Permission{Bound: true, Project: true, Namespace: true}
			}
		}
	}}},
	"a refused wish speaks for all works": {found: "PAUSE", mutant: mutant{facts: func(f *decide.Facts) {
		for i := range f.Works {
			if may := &f.Works[i].May; f.Application != nil && f.Target.Exists {
				may.Bound, may.Project, may.Namespace = may.Bound && f.May.Bound, may.Project && f.May.Project, may.Namespace && f.May.Namespace
			}
		}
	}}},
	"a slip withdraws": {found: "LOSS", mutant: mutant{facts: func(f *decide.Facts) {
		if f.Application != nil && f.Application.DeletionTimestamp == nil && !decide.Deliverable(*f) {
			app := *f.Application
			app.Labels, f.Application = nil, &app
		}
	}}},
	"projects only where a branch thinks of it": {found: "PROJECT", mutant: mutant{plan: func(f decide.Facts, p *decide.Plan) {
		for i := range p.Fates {
			p.Fates[i].Project = p.Fates[i].Project && f.Application != nil && p.Fates[i].Act != decide.Refresh
		}
	}}},
	"observe asks about the current work only": {found: "LOSS", mutant: mutant{facts: func(f *decide.Facts) {
		if f.Application == nil || !payload.Observes(f.Application) {
			return
		}
		for i := range f.Works {
			if w := &f.Works[i]; !payload.Delivers(f.Application, w.Work) {
				w.Work = annotated(w.Work, contract.ObservedAnnotation, "true")
			}
		}
	}}},
	"what was allowed is not stored": {found: "RESTART", mutant: mutant{forgets: true}},
	"the label of the hub is an administrator's": {found: "REVOKE", mutant: mutant{plan: func(f decide.Facts, p *decide.Plan) {
		for i := range p.Fates {
			if t := &p.Fates[i]; t.Why == decide.LocalCluster {
				t.Lane = decide.Lane{Kind: decide.Admin, Group: owner(f, i)}
			}
		}
	}}},
	"what is unproven counts for the owner": {found: "REVOKE", mutant: mutant{plan: func(f decide.Facts, p *decide.Plan) {
		for i := range p.Fates {
			switch t := &p.Fates[i]; t.Lane.Kind {
			case decide.Unproven, decide.ClusterWithdrawn:
				t.Lane = decide.Lane{Kind: decide.Tenant, Group: owner(f, i)}
			case decide.ClusterRevoked:
				t.Lane = decide.Lane{Kind: decide.Admin, Group: owner(f, i)}
			default:
			}
		}
	}}},
	"a release asks every work that names it": {found: "RELEASE", mutant: mutant{plan: func(_ decide.Facts, p *decide.Plan) {
		if len(p.Fates) > 0 && p.Release == decide.AfterProof {
			p.Release = decide.NoRelease
		}
	}}},
	"the former copy goes before the present one runs": {found: "LOSS", mutant: mutant{facts: func(f *decide.Facts) {
		for i := range f.Works {
			if w := &f.Works[i]; f.Application != nil && payload.Delivers(f.Application, w.Work) {
				w.Applied = metav1.ConditionTrue
			}
		}
	}}},
}

func owner(f decide.Facts, i int) decide.Group {
	if f.Application != nil {
		return decide.Group{Namespace: f.Key.Namespace, Set: f.Application.OwningApplicationSet()}
	}
	return f.Works[i].Note.Group
}

// annotated returns a copy of a work with another value of an annotation.
func annotated(w *manifestcache.Work, name, value string) *manifestcache.Work {
	other := *w
	other.Annotations = maps.Clone(w.Annotations)
	if other.Annotations == nil {
		other.Annotations = map[string]string{}
	}
	if delete(other.Annotations, name); value != "" {
		other.Annotations[name] = value
	}
	return &other
}

// The simulation finds the broken rule of each mutant.
func TestSimulation_findsMutants(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(mutants)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, n := mutants[name], 0
			for seed := uint64(1); n < 4**simSteps; seed++ { // most need far fewer
				w := newWorld(seed, m.mutant)
				n += w.walk(stepsOfWorld)
				if len(w.bad) == 0 {
					continue
				}
				t.Logf("seed %d, after %d steps: %s", seed, n, w.bad[0])
				if !strings.HasPrefix(w.bad[0], m.found) {
					t.Errorf("found as %s, want %s", w.bad[0], m.found)
				}
				return
			}
			t.Errorf("not found in %d steps", n)
		})
	}
}
