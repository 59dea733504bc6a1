// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

func statuses(v View) v1alpha1.AppSetStatuses {
	c := merge.Content{Rows: v.Rows, Resources: v.Resources, Summary: merge.Summarize(v.Rows)}
	return c.Statuses()
}

func (s *scene) publish() {
	for key := range s.dirty {
		s.published[key] = statuses(s.index.View(key))
	}
	clear(s.dirty)
}

// scratch computes a report from the hub's current objects, as simply as possible.
func (s *scene) scratch(key types.NamespacedName) v1alpha1.AppSetStatuses {
	said := map[string]intermediate.Application{}
	for _, applications := range s.search[key] {
		for _, a := range applications {
			said[a.Cluster+"/"+a.Name] = a
		}
	}
	var refs []v1alpha1.ResourceRef
	var rows []*merge.Row
	ofSet := func(w *workv1.ManifestWork) bool {
		return w.Annotations[contract.HostingAnnotation] == key.String() && w.Labels[contract.PullLabel] == "true"
	}
	staying := map[string]bool{}
	for _, w := range s.works {
		if ofSet(w) && w.DeletionTimestamp == nil {
			staying[w.Annotations[contract.HubNameAnnotation]] = true
		}
	}
	for _, w := range s.works {
		var search merge.Search
		if a, found := said[w.Namespace+"/"+w.Annotations[contract.HubNameAnnotation]]; found && ofSet(w) && len(w.Status.ResourceStatus.Manifests) > 0 {
			// Without a status for the manifest, the Application's namespace on the cluster is unknown.
			search = saidOf(&a)
			for _, x := range a.Resources {
				refs = append(refs, v1alpha1.ResourceRef{APIVersion: x.APIVersion, Kind: x.Kind, Name: x.Name, Namespace: x.Namespace})
			}
		}
		if !ofSet(w) || w.DeletionTimestamp != nil && staying[w.Annotations[contract.HubNameAnnotation]] {
			continue
		}
		cluster, known := s.clusters[w.Namespace]
		if !known {
			cluster = status.Cluster{Name: w.Namespace}
		}
		o := status.Work(w, cluster)
		a := merge.App{
			HubNamespace: w.Annotations[contract.HubNamespaceAnnotation], HubName: w.Annotations[contract.HubNameAnnotation], Cluster: w.Namespace, Work: w.Name,
			Reported: o.Reported, Health: o.Health, Sync: o.Sync, Revision: o.Revision,
			OperationPhase: o.Operation.Phase, OperationStartedAt: o.Operation.StartedAt, OperationMessage: o.Operation.Message,
		}
		for _, c := range o.ReportConditions() {
			a.Conditions = append(a.Conditions, v1alpha1.Condition(c))
		}
		rows = append(rows, merge.NewRow(a, search))
	}
	slices.SortFunc(rows, merge.Compare)
	return statuses(View{Rows: rows, Resources: merge.Resources(refs)})
}

func TestIndex_agreesWithRecomputation(t *testing.T) {
	const rounds, changes = 300, 60
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newScene(seed)
	for round := range rounds {
		for range changes {
			s.change()
			for len(s.names) > 0 && s.random.IntN(3) > 0 {
				s.deliver()
			}
			if s.random.IntN(10) == 0 {
				s.publish()
			}
		}
		for len(s.names) > 0 {
			s.deliver()
		}
		s.publish()
		for _, namespace := range []string{"argocd", "team"} {
			for _, name := range []string{"one", "two", "three"} {
				key := types.NamespacedName{Namespace: namespace, Name: name}
				want := s.scratch(key)
				if diff := cmp.Diff(want, statuses(s.index.View(key))); diff != "" {
					t.Fatalf("seed %d, round %d, %s: the index differs from a recomputation:\n%s", seed, round, key, diff)
				}
				written, ever := s.published[key]
				if len(want.ClusterConditions)+len(want.Resources) == 0 && !ever {
					continue
				}
				if diff := cmp.Diff(want, written); diff != "" {
					t.Fatalf("seed %d, round %d, %s: the index did not tell of a change:\n%s", seed, round, key, diff)
				}
			}
		}
		s.checkBooks(t)
	}
}

// checkBooks reports entries that the index should have dropped.
func (s *scene) checkBooks(t *testing.T) {
	t.Helper()
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	entries, stale := 0, 0
	for key, set := range s.index.sets {
		entries += len(set.entries)
		chained := 0
		for app, e := range set.applications {
			for ; e != nil; e = e.sibling {
				if chained++; hashOf(applicationOf(e.work)) != app {
					t.Errorf("%s: a work of %s is under the hash of another Application", key, applicationOf(e.work))
				}
			}
		}
		if chained != len(set.entries) {
			t.Errorf("%s: %d works by Application, want %d", key, chained, len(set.entries))
		}
		if len(set.entries) == 0 && set.search == nil && set.remembered == nil {
			t.Errorf("%s is kept for nothing", key)
		}
	}
	for name, c := range s.index.clusters {
		stale += c.stale()
		if len(c.works) == 0 && !c.state.Exists {
			t.Errorf("cluster %s is kept for nothing", name)
		}
	}
	if entries != len(s.index.works) || stale != s.index.stale {
		t.Errorf("%d rows for %d works, %d stale clusters counted as %d", entries, len(s.index.works), stale, s.index.stale)
	}
}

// saidOf returns search's part of a row.
func saidOf(a *intermediate.Application) merge.Search {
	return (&finding{search: searchOf(a)}).result()
}
