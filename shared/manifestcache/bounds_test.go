// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// hostile returns a work of 1.4 MB, as a watch decodes it. Every text contains serial, so that two works
// share nothing by chance.
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
		for _, p := range append(contract.FeedbackPaths(contract.MaxSources), contract.RequestPaths()...) {
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

// The works of a hostile managed cluster take little memory on the hub.
func TestCompact_boundsHostileWorks(t *testing.T) {
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
			kept := make([]*Work, 0, works)
			before := heap()
			for i := range works {
				work, _ := Compact(hostile(t, i, c.everything), nil)
				kept = append(kept, work)
			}
			if each := (heap() - before) / works; each > c.limit {
				t.Errorf("%s: %d bytes a work, want at most %d", c.reason, each, c.limit)
			}
			runtime.KeepAlive(kept)
		})
	}
}

// Compact keeps the annotations that prove the owner of a work, whatever an agent adds. It keeps keys of
// later versions of the pull model while there is room.
func TestCompact_boundsMetadata(t *testing.T) {
	full := usual()
	full.Annotations[contract.KeyPrefix+"later"] = "kept"
	want := maps.Clone(full.Annotations)
	full.Annotations["example.com/agent"] = "x"
	full.Annotations[contract.KeyPrefix+"zzz"] = strings.Repeat("x", 200<<10)
	work, rejected := Compact(full, nil)
	if diff := cmp.Diff(want, work.AllAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{contract.PullLabel: "true"}, work.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if want := (contract.Rejected{TooLong: 1}); rejected != want {
		t.Errorf("counted %+v, want the long annotation", rejected)
	}
}

// An annotation of an agent takes no room from the label by which a work is ours, or from the annotations that
// prove its owner.
func TestCompact_keepsTheLabelNextToALargeAnnotation(t *testing.T) {
	const filler, uid = contract.KeyPrefix + "a", "0f2a3b4c-1111-4222-a333-0123456789ab"
	label := len(contract.PullLabel) + len("true")
	for name, more := range map[string]int{"the label": 0, "the UID": len(contract.HubUIDAnnotation) + len(uid) - label} {
		full := usual()
		full.Annotations[contract.HubUIDAnnotation] = uid
		want := maps.Clone(full.Annotations)
		room := maxMetadata - len(filler)
		for key, value := range want {
			room -= len(key) + len(value)
		}
		full.Annotations[filler] = strings.Repeat("x", room+more)
		work, _ := Compact(full, nil)
		if _, ours := work.Application(); !ours {
			t.Errorf("without room for %s the work is not ours: %v", name, work.Labels)
		}
		if diff := cmp.Diff(want, work.AllAnnotations()); diff != "" {
			t.Errorf("without room for %s, annotations (-want +got):\n%s", name, diff)
		}
	}
}

// An invalid name results in no ApplicationSet and no hub name. Claimant still returns the named Application,
// so that deliver can remove the work.
func TestCompact_boundsNames(t *testing.T) {
	for name, c := range map[string]struct {
		reason, set, hubName string
		isSet, isName        bool
	}{
		"usual":   {reason: "names as they are", set: "argocd/guestbook", hubName: "guestbook", isSet: true, isName: true},
		"long":    {reason: "longer than any name", set: "argocd/" + strings.Repeat("x", 254), hubName: strings.Repeat("x", 254)},
		"control": {reason: "with a new line", set: "argo\ncd/guestbook", hubName: "guest\nbook"},
		"parts":   {reason: "no namespace, or two", set: "a/b/c", hubName: "guestbook", isName: true},
		"path":    {reason: "a name that is another path", set: "argocd/.", hubName: "guest/book"},
		"parent":  {reason: "a namespace that is another path", set: "../guestbook", hubName: ".."},
	} {
		full := usual()
		full.Annotations[contract.HostingAnnotation], full.Annotations[contract.HubNameAnnotation] = c.set, c.hubName
		w, _ := Compact(full, nil)
		if _, is := w.ApplicationSet(); is != c.isSet {
			t.Errorf("%s: %s: an ApplicationSet: %t", name, c.reason, is)
		}
		if is := w.HubName == c.hubName; is != c.isName {
			t.Errorf("%s: %s: the name is %q", name, c.reason, w.HubName)
		}
		if app, named := w.Claimant(); !named || app.Name != c.hubName {
			t.Errorf("%s: %s: claimed by %q, %t", name, c.reason, app, named)
		}
	}
}

// usual returns the work of a healthy and synced Application.
func usual() *workv1.ManifestWork {
	full := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cluster1", Name: "guestbook-cluster1-1a2b3", UID: "0f2a3b4c-1111-4222-a333-0123456789ab", ResourceVersion: "123456", Generation: 1,
		Labels: map[string]string{contract.PullLabel: "true"},
		Annotations: map[string]string{
			contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: "guestbook-cluster1", contract.HostingAnnotation: "argocd/guestbook",
		},
	}}
	condition := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: metav1.Unix(1_767_000_000, 0)}
	}
	full.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied)}
	full.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Kind: argocd.ApplicationKind, Namespace: "argocd", Name: "guestbook-cluster1"},
		Conditions:   []metav1.Condition{condition(workv1.ManifestApplied), condition(workv1.ManifestAvailable), condition("StatusFeedbackSynced")},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{
			str(contract.FeedbackHealthStatus, "Healthy"), str(contract.FeedbackSyncStatus, "Synced"), str(contract.FeedbackSyncRevision, "53e28ff20cc530b9ada2173fbbd64d48338583ba"),
			str(contract.FeedbackOperationPhase, "Succeeded"), str(contract.FeedbackOperationStartedAt, "2026-11-20T10:00:00Z"), str(contract.FeedbackOperationFinishedAt, "2026-11-20T10:00:01Z"),
			str(contract.FeedbackOperationMessage, "successfully synced (all tasks run)"), str(contract.FeedbackReconciledAt, "2026-11-20T10:00:02Z"),
		}},
	}}
	return full
}

// The usual work is small, and shares its common parts with other works.
func TestCompact_usualWorkIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Work{}); size > 352 { // a size class of the Go runtime
		t.Errorf("a Work has %d bytes, want at most 352", size)
	}
	one, _ := Compact(usual(), nil)
	two, _ := Compact(usual(), nil)
	if one.Extra != two.Extra || one.Stored != two.Stored || reflect.ValueOf(one.Annotations).Pointer() != reflect.ValueOf(two.Annotations).Pointer() {
		t.Errorf("two works that are as they should be share too little: %+v", one)
	}
}

func BenchmarkCompact(b *testing.B) {
	full := usual()
	b.ReportAllocs()
	for b.Loop() {
		Compact(full, nil)
	}
}

// heap returns the bytes of the live heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
