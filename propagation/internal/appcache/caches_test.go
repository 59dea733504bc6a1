// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appcache

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const cachedSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

// cachedApplication returns an Application with the pull label and the cluster annotation.
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

// storedWork returns a ManifestWork as the API server returns it, with the status that a work agent writes.
func storedWork(tb testing.TB, i int) *workv1.ManifestWork {
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
	return work
}

func TestCachedWork_keepsTheHashOfTheSpec(t *testing.T) {
	transform := manifestcache.Transform(payload.StoredOf, countRejected)
	stored := storedWork(t, 1)
	want, err := payload.SpecHash(&stored.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var object any = stored
	for range 2 { // a resync of the informer transforms the object again
		if object, err = transform(object); err != nil {
			t.Fatal(err)
		}
	}
	work := object.(*manifestcache.Work)
	if facts := work.Stored; facts.Hash != want || facts.Polls || facts.BaseHash != "" {
		t.Errorf("of the spec is kept %+v, want the hash %s", facts, want)
	}
	if app, ours := work.Application(); !ours || app.Name != "application-1" {
		t.Errorf("it carries %s, %t", app, ours)
	}
	if app, ok := work.Delivers(); !ok || app.Name != "application-1" || app.Namespace != "team" {
		t.Errorf("it delivers %s, %t", app, ok)
	}
	for name, odd := range map[string]*workv1.ManifestWork{
		"empty":       {},
		"no manifest": {Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{}}}},
		"garbage": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RequestAnnotation: "operation-1"}},
			Spec:       workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: make([]workv1.Manifest, 1)}, ManifestConfigs: make([]workv1.ManifestConfigOption, 1)},
		},
	} {
		if _, err := transform(odd); err != nil {
			t.Errorf("%s: %v", name, err) // after an error the informer would lose the event
		}
	}
}

// The hash of a spec covers the operation request. The base hash does not.
func TestCachedWork_excludesTheRequestFromTheBaseHash(t *testing.T) {
	app := cachedApplication()
	bare, err := payload.ManifestWork(payload.Inputs{Application: app})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := payload.ManifestWork(payload.Inputs{Application: app, Request: request.Request{ID: "refresh-1-2", Refresh: "normal"}})
	if err != nil {
		t.Fatal(err)
	}
	plain, loaded := Compact(bare), Compact(asked)
	if plain.Stored.Hash == loaded.Stored.Hash || payload.CachedBase(plain) != payload.CachedBase(loaded) {
		t.Errorf("hashed to %+v and to %+v with a request", plain.Stored, loaded.Stored)
	}
}

// oneApplication is an API server with one Application, or none.
type oneApplication struct {
	client.Reader
	app *argocd.Application
}

func (o oneApplication) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	app, ok := into.(*argocd.Application)
	if !ok || o.app == nil || key != client.ObjectKeyFromObject(o.app) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	o.app.DeepCopyInto(app)
	return nil
}

// Whole returns what the API server has of an Application that the cache has reduced, or of which it has left out
// a spec that may be delivered.
func TestWhole(t *testing.T) {
	const limit = 100 << 10
	note := func(a *argocd.Application) { a.Annotations["example.com/note"] = strings.Repeat("x", 20<<10) }
	large := func(a *argocd.Application) {
		a.Spec = fmt.Appendf(nil, `{"project":"default","x":%q}`, strings.Repeat("x", limit))
	}
	for name, c := range map[string]struct {
		reason  string
		change  func(*argocd.Application)
		live    func(*argocd.Application)
		reads   bool
		omitted bool // the spec, of the result
	}{
		"small":        {reason: "the cache has it", change: func(*argocd.Application) {}},
		"reduced":      {reason: "its annotations and its status are needed", change: note, reads: true},
		"large":        {reason: "its spec is not delivered", change: large, omitted: true},
		"large, noted": {reason: "its status is needed", change: func(a *argocd.Application) { note(a); large(a) }, reads: true, omitted: true},
		"another":      {reason: "the cache is behind", change: note, live: func(a *argocd.Application) { a.UID = "fedcba9876543210" }},
	} {
		app := cachedApplication()
		app.Finalizers, app.Status = []string{"example.com/foreign"}, json.RawMessage(`{"health":{}}`)
		c.change(app)
		live := app.DeepCopy()
		if c.live != nil {
			c.live(live)
		}
		if _, err := manifestcache.NewSpecs(payload.ApplicationSpecHash, func(int) {}).TrimApplication(limit)(app); err != nil {
			t.Fatal(err)
		}
		whole, err := Whole(t.Context(), oneApplication{app: live}, app, limit)
		if c.live != nil {
			if !apierrors.IsConflict(err) {
				t.Errorf("%s: %s: the error is %v", name, c.reason, err)
			}
			continue
		}
		switch {
		case err != nil:
			t.Errorf("%s: %s: %v", name, c.reason, err)
		case (whole != app) != c.reads, manifestcache.Reduced(whole), (manifestcache.Omitted(whole.Spec) > 0) != c.omitted:
			t.Errorf("%s: %s: read is %t, the spec is %.200s", name, c.reason, whole != app, whole.Spec)
		case len(whole.Finalizers) != 1 || string(whole.Status) != `{"health":{}}` || whole.Annotations["example.com/note"] != live.Annotations["example.com/note"]:
			t.Errorf("%s: %s: a part is missing", name, c.reason)
		}
	}
}

// An Application may be deleted and re-created while the watch is interrupted. The informer then reports an update.
// The specs forget the Application that no longer exists.
func TestRelease_forgetsAReplacedApplication(t *testing.T) {
	var left atomic.Int64
	limits := manifestcache.NewSpecs(payload.ApplicationSpecHash, func(omitted int) { left.Store(int64(omitted)) })
	source := cachetesting.NewFakeControllerSource()
	informer := toolscache.NewSharedIndexInformer(source, &argocd.Application{}, 0, toolscache.Indexers{})
	if err := informer.SetTransform(limits.TrimApplication(100 << 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(release(limits)); err != nil {
		t.Fatal(err)
	}
	large, small := cachedApplication(), cachedApplication()
	large.Annotations["example.com/note"] = strings.Repeat("x", 20<<10)
	small.UID = "fedcba9876543210"
	source.Add(large)
	go informer.Run(t.Context().Done())
	if !toolscache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) || left.Load() != 1 {
		t.Fatalf("%d are left out of the first list, want 1", left.Load())
	}
	source.DeleteDropWatch(large)
	source.AddDropWatch(small)
	source.ResetWatch()
	testkit.Eventually(t, "nothing is left out", func() error {
		if n := left.Load(); n != 0 {
			return fmt.Errorf("%d are left out; the cache has %v", n, informer.GetStore().ListKeys())
		}
		return nil
	})
}

// Of the annotations of an ApplicationSet or Namespace, the cache keeps a bounded part.
func TestTrimDecisions_boundsWhatIsKept(t *testing.T) {
	set := argocd.ApplicationSetMetadata()
	set.Annotations = map[string]string{contract.DeletionBudgetAnnotation: strings.Repeat("hold ", 1000), contract.PausedAnnotation: "delivery"}
	for i := range 1000 {
		set.Annotations[fmt.Sprint(contract.KeyPrefix, i)] = "x"
	}
	kept := TrimDecisions(set).Annotations
	if len(kept) != 2 || kept[contract.PausedAnnotation] != "delivery" || len(kept[contract.DeletionBudgetAnnotation]) > contract.MaxToken || kept[contract.DeletionBudgetAnnotation] == "" {
		t.Errorf("%d annotations are kept: %.500v", len(kept), kept)
	}
}
