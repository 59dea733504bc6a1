// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// hostile returns a work of 1.4 MB as a watch decodes it. What differs between any
// two of them is in every text, so that nothing is shared by chance.
func hostile(t *testing.T, serial int, everything bool) *workv1.ManifestWork {
	t.Helper()
	long := func(n int) string { return strings.Repeat(fmt.Sprintf("%06d", serial), n/6) }
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cluster1", Name: fmt.Sprint("guestbook-", serial), UID: "u",
		Labels:      map[string]string{contract.PullLabel: "true"},
		Annotations: map[string]string{contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: "guestbook"},
	}}
	values := []workv1.FeedbackValue{str("healthMessage", long(1<<20)), str("syncStatus", long(300<<10))}
	if everything {
		values = nil
		for _, p := range append(contract.FeedbackPaths(), contract.RequestPaths()...) {
			values = append(values, str(p.Name, long(20<<10)))
		}
		for i := range 2000 {
			work.Labels[fmt.Sprint(contract.KeyPrefix, "label-", serial, "-", i)] = "x"
			work.Annotations[fmt.Sprint("annotation-", serial, "-", i)] = long(100)
			work.Finalizers = append(work.Finalizers, fmt.Sprint("example.com/", serial, "-", i))
		}
	}
	failed := metav1.Condition{Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Reason: long(1000), Message: long(30 << 10)}
	manifests := []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Name: "guestbook"},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
	}}
	if everything {
		for range 20 {
			manifests = append(manifests, workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Kind: long(200), Name: long(200)}, Conditions: []metav1.Condition{failed}})
		}
	}
	work.Status.ResourceStatus.Manifests = manifests
	raw, err := json.Marshal(work)
	if err != nil || len(raw) < 1<<20 {
		t.Fatalf("the work has %d bytes, %v", len(raw), err)
	}
	decoded := &workv1.ManifestWork{}
	if err := json.Unmarshal(raw, decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func str(name, value string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
}

// A managed cluster does not decide how much memory the hub takes.
func TestHostileWorksCostLittle(t *testing.T) {
	const works = 50
	for name, c := range map[string]struct {
		reason     string
		everything bool
		limit      uint64
	}{
		"values":     {reason: "1 MiB of message and 300 KiB of sync status", limit: 4 << 10},
		"everything": {reason: "every text of status and metadata at its longest", everything: true, limit: 32 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			kept := make([]*Packed, 0, works)
			before := heap()
			for i := range works {
				work := hostile(t, i, c.everything)
				Bound(work, "hash")
				kept = append(kept, Pack(work))
			}
			if each := (heap() - before) / works; each > c.limit {
				t.Errorf("%s: %d bytes a work, want at most %d", c.reason, each, c.limit)
			}
			runtime.KeepAlive(kept)
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What tells whose a work is stays, whatever an agent adds to it; keys that later
// versions of the pull model may add stay while there is room.
func TestBoundKeepsWhatIsRead(t *testing.T) {
	work := benchmarked()
	work.Annotations[contract.KeyPrefix+"later"] = "kept"
	want := map[string]string{"hash": work.Annotations["hash"], contract.KeyPrefix + "later": "kept"}
	for _, key := range []string{contract.HubNamespaceAnnotation, contract.HubNameAnnotation, contract.HostingAnnotation} {
		want[key] = work.Annotations[key]
	}
	work.Annotations["example.com/agent"] = "x"
	work.Annotations[contract.KeyPrefix+"zzz"] = strings.Repeat("x", 200<<10)
	work.Finalizers = []string{"cluster.open-cluster-management.io/manifest-work-cleanup"}
	before := counted(t, "too_long")
	Bound(work, "hash")
	if diff := cmp.Diff(want, work.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{contract.PullLabel: "true"}, work.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(work.Finalizers) != 1 {
		t.Errorf("finalizers are %v", work.Finalizers)
	}
	if n := counted(t, "too_long") - before; n != 1 {
		t.Errorf("%v were counted, want the long annotation", n)
	}
}

func counted(t *testing.T, reason string) float64 {
	t.Helper()
	var m dto.Metric
	if err := rejectedTotal.WithLabelValues(reason).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
