// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// witness observes every event of ManifestWorks, reports and Applications on the hub, and records the events
// that must not happen.
type witness struct {
	mu      sync.Mutex
	events  int
	wrong   []string
	works   map[client.ObjectKey]int // number of rewrites of each
	reports map[string]bool
}

// rewrites is how often a ManifestWork may be rewritten by the upgrade and the way back: never, because both
// versions write the same content.
const rewrites = 0

func watch(t *testing.T) *witness {
	t.Helper()
	scheme, err := env.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	watching, err := cache.New(fleet.Hub.Config, cache.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{works: map[client.ObjectKey]int{}, reports: map[string]bool{}}
	go func() { _ = watching.Start(t.Context()) }() // it ends with the test
	observe(t, watching, &workv1.ManifestWork{}, toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { w.see(func() { w.workAdded(o.(*workv1.ManifestWork), initial) }) },
		UpdateFunc: func(a, b any) { w.see(func() { w.workChanged(a.(*workv1.ManifestWork), b.(*workv1.ManifestWork)) }) },
		DeleteFunc: func(any) { w.see(func() { w.say("a ManifestWork was deleted") }) },
	})
	observe(t, watching, &v1alpha1.MulticlusterApplicationSetReport{}, toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			w.see(func() { w.reportAdded(o.(*v1alpha1.MulticlusterApplicationSetReport), initial) })
		},
		UpdateFunc: func(a, b any) {
			w.see(func() {
				w.reportChanged(a.(*v1alpha1.MulticlusterApplicationSetReport), b.(*v1alpha1.MulticlusterApplicationSetReport))
			})
		},
		DeleteFunc: func(any) { w.see(func() { w.say("a report was deleted") }) },
	})
	observe(t, watching, &argocd.Application{}, toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, b any) { w.see(func() { w.applicationChanged(b.(*argocd.Application)) }) },
	})
	return w
}

// observe waits until the handler has received all existing objects.
func observe(t *testing.T, watching cache.Cache, kind client.Object, handler toolscache.ResourceEventHandler) {
	t.Helper()
	informer, err := watching.GetInformer(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		t.Fatal(err)
	}
	if !toolscache.WaitForCacheSync(t.Context().Done(), registration.HasSynced) {
		t.Fatalf("watch %T: %v", kind, t.Context().Err())
	}
}

func (w *witness) see(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	what()
}

func (w *witness) say(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *witness) workAdded(o *workv1.ManifestWork, initial bool) {
	if w.works[client.ObjectKeyFromObject(o)] = 0; !initial {
		w.say("ManifestWork %s/%s was made, for %s", o.Namespace, o.Name, o.Annotations[contract.HubNameAnnotation])
	}
}

// workChanged ignores the work agent's writes, and the ManifestWork with requests.
func (w *witness) workChanged(a, b *workv1.ManifestWork) {
	if b.Annotations[contract.HubNameAnnotation] == once {
		return
	}
	if key := client.ObjectKeyFromObject(b); a.Generation != b.Generation {
		if w.works[key]++; w.works[key] > rewrites {
			w.say("ManifestWork %s/%s was rewritten: generation %d to %d", b.Namespace, b.Name, a.Generation, b.Generation)
		}
	}
	if before, after := marks(a), marks(b); before != after {
		w.say("ManifestWork %s/%s was marked otherwise: %s, then %s", b.Namespace, b.Name, before, after)
	}
}

// marks returns the labels and annotations of a ManifestWork, except the annotation that changes with a
// rewrite.
func marks(o *workv1.ManifestWork) string {
	annotations := maps.Clone(o.Annotations)
	delete(annotations, contract.ApplicationSpecAnnotation)
	return fmt.Sprint(o.Labels, annotations)
}

func (w *witness) reportAdded(o *v1alpha1.MulticlusterApplicationSetReport, initial bool) {
	if w.reports[o.Name] = true; !initial {
		w.say("report %s was made", o.Name)
	}
}

// reportChanged checks that a report loses no Application and no resource, and that each row has a known
// health, sync status and revision.
func (w *witness) reportChanged(a, b *v1alpha1.MulticlusterApplicationSetReport) {
	if before, after := len(a.Statuses.ClusterConditions), len(b.Statuses.ClusterConditions); after < before {
		w.say("report %s lost rows: %d to %d", b.Name, before, after)
	}
	if before, after := len(a.Statuses.Resources), len(b.Statuses.Resources); after < before {
		w.say("report %s lost resources: %d to %d", b.Name, before, after)
	}
	for _, row := range b.Statuses.ClusterConditions {
		if blank(row.HealthStatus) || blank(row.SyncStatus) || row.SyncRevision == "" {
			w.say("report %s says of %s: health %q, sync %q, revision %q", b.Name, row.App, row.HealthStatus, row.SyncStatus, row.SyncRevision)
		}
	}
}

// applicationChanged checks that every Application has a known status.
func (w *witness) applicationChanged(a *argocd.Application) {
	var status struct {
		Sync   struct{ Status, Revision string }
		Health struct{ Status string }
	}
	if err := json.Unmarshal(a.Status, &status); err != nil || blank(status.Health.Status) || blank(status.Sync.Status) || status.Sync.Revision == "" {
		w.say("Application %s on the hub says: %s", a.Name, a.Status)
	}
}

// blank reports whether a status is missing or Unknown, unlike a bad status.
func blank(status string) bool { return status == "" || status == "Unknown" }

// check fails the test for each recorded event that must not happen.
func (w *witness) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Logf("%d events of %d ManifestWorks and %d reports were looked at", w.events, len(w.works), len(w.reports))
	if len(w.works) < 5 || len(w.reports) < 2 {
		t.Errorf("%d ManifestWorks and %d reports were watched, want those of two ApplicationSets and one Application", len(w.works), len(w.reports))
	}
	for key, n := range w.works {
		t.Logf("ManifestWork %s was rewritten %d times", key, n)
	}
	for _, wrong := range w.wrong {
		t.Error(wrong)
	}
}
