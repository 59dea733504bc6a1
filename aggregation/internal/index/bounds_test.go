// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// hostile returns a ManifestWork of about a megabyte, decoded as from a watch. serial makes the texts
// differ, so that no two ManifestWorks share memory.
func hostile(t *testing.T, serial int, values map[string]int) *workv1.ManifestWork {
	t.Helper()
	long := func(n int) string { return strings.Repeat(fmt.Sprintf("%06d", serial), n/6) }
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cluster1", Name: fmt.Sprint("guestbook-", serial), UID: "u",
		Labels: map[string]string{contract.PullLabel: "true"},
		Annotations: map[string]string{
			contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: "guestbook", contract.HostingAnnotation: "argocd/guestbook", "stray": long(100 << 10),
		},
	}}
	manifest := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{
		Group: argocd.Group, Resource: argocd.ApplicationPlural, Name: "guestbook", Namespace: long(10 << 10),
	}}
	for name, size := range values {
		value := long(size)
		manifest.StatusFeedbacks.Values = append(manifest.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	synced := argocd.SyncSynced
	if values[contract.FeedbackSyncStatus] == 0 {
		manifest.StatusFeedbacks.Values = append(manifest.StatusFeedbacks.Values, workv1.FeedbackValue{Name: contract.FeedbackSyncStatus, Value: workv1.FieldValue{Type: workv1.String, String: &synced}})
	}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{manifest}
	raw, err := json.Marshal(work)
	if err != nil {
		t.Fatal(err)
	}
	decoded := &workv1.ManifestWork{}
	if err := json.Unmarshal(raw, decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// A managed cluster cannot make a row large, in memory or in the report. So it cannot push out the rows of
// other clusters.
func TestCompact_boundsHostileWork(t *testing.T) {
	const works = 50
	everything := map[string]int{}
	for _, p := range contract.FeedbackPaths(contract.MaxSources) {
		everything[p.Name] = 60 << 10
	}
	for name, c := range map[string]struct {
		reason string
		values map[string]int
		limit  uint64
	}{
		"revision":   {reason: "a revision of 1.1 MB is none", values: map[string]int{contract.FeedbackSyncRevision: 1_100_000}, limit: 2 << 10},
		"message":    {reason: "a message is cut", values: map[string]int{contract.FeedbackHealthMessage: 1 << 20, contract.FeedbackSyncStatus: 300 << 10}, limit: 4 << 10},
		"everything": {reason: "every value at its longest", values: everything, limit: 20 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			kept := make([]any, 0, works)
			before := heap()
			for i := range works {
				compact, err := Compact(hostile(t, i, c.values))
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, compact)
			}
			if each := (heap() - before) / works; each > c.limit {
				t.Errorf("%s: %d bytes a work, want at most %d", c.reason, each, c.limit)
			}
			work, ok := kept[0].(*manifestcache.Work)
			if !ok || work.AppNamespace != "" || work.HubName != "guestbook" || setOf(work).Name != "guestbook" {
				t.Fatalf("%s: it is %+v", c.reason, kept[0])
			}
			seen := work.Observe(status.Cluster{Name: "cluster1", Exists: true, Available: true})
			for _, s := range []string{seen.Health, seen.Sync, seen.Revision, seen.Operation.Phase, seen.Operation.StartedAt} {
				if len(s) > contract.MaxToken {
					t.Errorf("%s: a row gets %d bytes", c.reason, len(s))
				}
			}
			runtime.KeepAlive(kept)
		})
	}
	var m dto.Metric
	if err := rejectedTotal.WithLabelValues("too_long").Write(&m); err != nil || m.GetCounter().GetValue() < works {
		t.Errorf("%v were counted, %v", m.GetCounter().GetValue(), err)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
