// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/workindex"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const cachedSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

// cachedApplication is an Application that is to be delivered.
func cachedApplication() *argocd.Application {
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", UID: "0123456789abcdef",
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(cachedSpec),
	}
}

// storedWork is a work as it comes from the API server, with an agent's status.
func storedWork(tb testing.TB, i int) []byte {
	tb.Helper()
	app := cachedApplication()
	app.Name, app.UID = fmt.Sprintf("application-%d", i), types.UID(fmt.Sprintf("%08d-aaaa-bbbb-cccc-0123456789ab", i))
	app.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set"}}
	work, err := payload.ManifestWork(payload.Inputs{Application: app, CreateNamespace: true})
	if err != nil {
		tb.Fatal(err)
	}
	work.Name, work.UID, work.ResourceVersion, work.Generation = payload.WorkNames(app)[0], app.UID, fmt.Sprint(i), 1
	work.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "propagation", Operation: metav1.ManagedFieldsOperationUpdate}}
	applied := metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", Message: "Apply manifest work complete", ObservedGeneration: 1}
	work.Status.Conditions = []metav1.Condition{applied, {Type: workv1.WorkAvailable, Status: metav1.ConditionTrue, Reason: "ResourcesAvailable", Message: "All resources are available"}}
	value := func(name, s string) workv1.FeedbackValue {
		return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &s}}
	}
	for _, resource := range []string{"namespaces", argocd.ApplicationPlural} {
		m := workv1.ManifestCondition{Conditions: []metav1.Condition{applied, applied, applied}, ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: "Application", Resource: resource, Namespace: "team", Name: app.Name}}
		if resource == "namespaces" {
			m.ResourceMeta.Group = ""
		} else {
			m.StatusFeedbacks.Values = []workv1.FeedbackValue{
				value(contract.FeedbackHealthStatus, "Healthy"), value(contract.FeedbackSyncStatus, "Synced"), value(contract.FeedbackSyncRevision, "53e28ff20cc530b9ada2173fbbd64d48338583ba"),
				value(contract.FeedbackOperationPhase, "Succeeded"), value(contract.FeedbackOperationStartedAt, "2026-11-20T10:00:00Z"), value(contract.FeedbackOperationFinishedAt, "2026-11-20T10:00:01Z"),
				value(contract.FeedbackOperationMessage, "successfully synced (all tasks run)"), value(contract.FeedbackReconciledAt, "2026-11-20T10:00:02Z"),
			}
		}
		work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, m)
	}
	raw, err := json.Marshal(work)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func decode[T any](tb testing.TB, raw []byte) *T {
	tb.Helper()
	o := new(T)
	if err := json.Unmarshal(raw, o); err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestTrimWork(t *testing.T) {
	stored := decode[workv1.ManifestWork](t, storedWork(t, 1))
	want, err := payload.SpecHash(&stored.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var cached any = stored
	for range 2 { // a resync trims again
		if cached, err = trimWork(cached); err != nil {
			t.Fatal(err)
		}
	}
	work := workindex.Work(cached)
	if work.Annotations[payload.HashAnnotation] != want || work.Annotations[payload.ScrapeAnnotation] != string(workv1.FeedbackWatchType) {
		t.Errorf("the hash is lost: %v", work.Annotations)
	}
	if work.Spec.Workload.Manifests != nil || work.ManagedFields != nil {
		t.Error("the spec is still there")
	}
	if _, there := workindex.ApplicationOf(work); !there {
		t.Error("whose it is has been lost")
	}
	for name, odd := range map[string]*workv1.ManifestWork{
		"empty":       {},
		"no manifest": {Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{}}}},
		"garbage": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RequestAnnotation: "operation-1"}},
			Spec:       workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: make([]workv1.Manifest, 1)}, ManifestConfigs: make([]workv1.ManifestConfigOption, 1)},
		},
	} {
		if _, err := trimWork(odd); err != nil {
			t.Errorf("%s: %v", name, err) // an error here would lose the event
		}
	}
}

func TestTrimApplication(t *testing.T) {
	app := cachedApplication()
	app.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = strings.Repeat("x", 1000)
	app.Status = json.RawMessage(`{"conditions":[{"message":"m","type":"SyncError"}],"health":{"status":"Healthy"},"history":[` + strings.Repeat("1,", 1000) + `1],"resources":[],"summary":{}}`)
	if _, err := trimApplication(app); err != nil {
		t.Fatal(err)
	}
	if got := string(app.Status); got != `{"conditions":[{"message":"m","type":"SyncError"}],"health":{"status":"Healthy"}}` {
		t.Errorf("the status became %s", got)
	}
	if len(app.Annotations) != 2 || string(app.Spec) != cachedSpec {
		t.Errorf("it became %v %s", app.Annotations, app.Spec)
	}
}

// BenchmarkCachedWork reports what one work costs in the cache.
func BenchmarkCachedWork(b *testing.B) {
	benchmarkCached(b, storedWork, decode[workv1.ManifestWork], trimWork)
}

func benchmarkCached[T any](b *testing.B, stored func(testing.TB, int) []byte, decode func(testing.TB, []byte) *T, trim func(any) (any, error)) {
	const n = 2000
	for b.Loop() {
		kept := make([]any, n)
		before := heap()
		for i := range n {
			o, err := trim(decode(b, stored(b, i)))
			if err != nil {
				b.Fatal(err)
			}
			kept[i] = o
		}
		b.ReportMetric(float64(heap()-before)/n, "B/object")
		runtime.KeepAlive(kept)
	}
}

func BenchmarkCachedApplication(b *testing.B) {
	stored := func(tb testing.TB, i int) []byte {
		app := cachedApplication()
		app.Name, app.UID, app.ResourceVersion = fmt.Sprintf("application-%d", i), types.UID(fmt.Sprintf("%08d-aaaa-bbbb-cccc-0123456789ab", i)), fmt.Sprint(i)
		app.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set"}}
		app.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"default","source":{"path":"guestbook","repoURL":"https://git.example.com/apps.git","targetRevision":"main"},"syncPolicy":{"automated":{"prune":true,"selfHeal":true},"syncOptions":["CreateNamespace=true"]}}`)
		app.Status = json.RawMessage(`{"health":{"status":"Healthy"},"operationState":{"finishedAt":"2026-11-20T10:00:01Z","message":"successfully synced (all tasks run)","operation":{},"phase":"Succeeded","startedAt":"2026-11-20T10:00:00Z"},"sync":{"revision":"53e28ff20cc530b9ada2173fbbd64d48338583ba","status":"Synced"}}`)
		raw, err := json.Marshal(app)
		if err != nil {
			tb.Fatal(err)
		}
		return raw
	}
	benchmarkCached(b, stored, decode[argocd.Application], trimApplication)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
