// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
)

// storedReport is a report on the API server, as this process last read or wrote it.
type storedReport struct {
	meta *metav1.PartialObjectMetadata
	// own is true if aggregation manages the report (see [isOwn]).
	own bool
	// content is the report's content. rewrite is true if the report also has fields that we never
	// write. Then it has to be written again, whatever the content is.
	content merge.Content
	rewrite bool
}

// tracker caches the reports as this process last read or wrote them. It is safe for concurrent use.
type tracker struct {
	mu      sync.Mutex
	reports map[types.NamespacedName]*storedReport
	// loaded are the reports that were read once. A report that appears later is newer than the
	// cache of this process.
	loaded map[types.NamespacedName]struct{}
	// deleted are the last reports with an observed deletion. The response to a write may arrive
	// after the deletion of the written report.
	deleted map[types.NamespacedName]types.UID
	// foreign are the reports that have an ApplicationSet's name and that aggregation does not manage.
	foreign map[types.NamespacedName]types.UID
}

func newTracker() *tracker {
	return &tracker{
		reports: map[types.NamespacedName]*storedReport{},
		loaded:  map[types.NamespacedName]struct{}{},
		deleted: map[types.NamespacedName]types.UID{},
		foreign: map[types.NamespacedName]types.UID{},
	}
}

// known returns a report, or nil if it has to be read.
func (t *tracker) known(key types.NamespacedName) *storedReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reports[key]
}

// markLoaded records that a report was read, and reports whether it was the first time.
func (t *tracker) markLoaded(key types.NamespacedName) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, before := t.loaded[key]
	t.loaded[key] = struct{}{}
	return !before
}

// keep stores a report after a read or write. nil means that nothing is known.
func (t *tracker) keep(key types.NamespacedName, report *storedReport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if report == nil || report.meta.UID == t.deleted[key] {
		delete(t.reports, key)
		return
	}
	delete(t.deleted, key)
	t.reports[key] = report
}

// recordDeletion records that a report was deleted.
func (t *tracker) recordDeletion(key types.NamespacedName, uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deleted[key] = uid
	if report := t.reports[key]; report != nil && report.meta.UID == uid {
		delete(t.reports, key)
	}
}

// setForeign records whether a report is foreign, and reports whether it became foreign. An empty
// UID means that the report or its ApplicationSet does not exist, or that aggregation manages it.
func (t *tracker) setForeign(key types.NamespacedName, uid types.UID) (became bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	became = uid != "" && t.foreign[key] != uid
	if uid == "" {
		delete(t.foreign, key)
	} else {
		t.foreign[key] = uid
	}
	foreignGauge.Set(float64(len(t.foreign)))
	return became
}

// forget drops the data about the report of an ApplicationSet that does not exist any more.
func (t *tracker) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.reports, key)
	delete(t.loaded, key)
	delete(t.deleted, key)
}
