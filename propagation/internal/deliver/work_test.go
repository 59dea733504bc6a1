// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func stranger(namespace, name string, annotations map[string]string) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations},
		Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{
			RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default"}}`)},
		}}}},
	}
}

// If a foreign ManifestWork has the name of a work, propagation uses another name, and does not change the
// foreign one.
func TestNameTaken_choosesAnotherName(t *testing.T) {
	first := start(t)
	first.stop() // so that the foreign work exists first
	p := newPlace(t)
	for name, annotations := range map[string]map[string]string{
		"stranger":     nil,
		"copied-notes": {contract.HubNamespaceAnnotation: p.namespace, contract.HubNameAnnotation: "copied-notes"}, // without the label it is foreign
	} {
		app := p.deploy(name)
		p.create(stranger(p.cluster, contract.WorkName(name, string(app.UID)), annotations))
	}
	start(t)
	for _, name := range []string{"stranger", "copied-notes"} {
		app := p.app(name)
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), app); err != nil {
			t.Fatal(err)
		}
		taken := contract.WorkName(name, string(app.UID))
		testkit.Eventually(t, "another name for "+name, func() error {
			for _, w := range works(t, app) {
				if w.Name != taken && w.Labels[contract.PullLabel] == "true" {
					return nil
				}
			}
			return fmt.Errorf("conditions %v", storedConditions(t, app))
		})
		awaitCondition(t, app, policy.WarningCondition, "another ManifestWork has the name")
		left := stranger(p.cluster, taken, nil)
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(left), left); err != nil || len(left.Spec.ManifestConfigs) > 0 {
			t.Errorf("the stranger was touched: %v", err)
		}
		remove(t, left)
		edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/wake"] = "up" })
		awaitCondition(t, app, policy.WarningCondition, "")
	}
}

// A restored Application has kept its work, and the UID of another Application begins with the same digits as the
// UID before. So the work has the usual name of the other one, too. Neither the delivery nor the end of the other one
// affects it.
func TestNameTaken_leavesTheWorkOfAnotherApplication(t *testing.T) {
	first := start(t)
	first.stop() // so that the earlier work exists first
	p := newPlace(t)
	q := newNamespace(t, p)
	one := p.deploy("shop", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	two := q.deploy("shop", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work, err := payload.ManifestWork(payload.Inputs{Application: one})
	if err != nil {
		t.Fatal(err)
	}
	work.Name = payload.WorkNames(two)[0]
	p.create(work)
	running := start(t)
	if own := delivered(t, one, p.cluster); own.UID != work.UID {
		t.Errorf("the restored Application has another work %s", own.Name)
	}
	if own := delivered(t, two, p.cluster); own.Name == work.Name {
		t.Error("the other Application has taken the work")
	}
	sameFacts(t, running, client.ObjectKeyFromObject(one))
	sameFacts(t, running, client.ObjectKeyFromObject(two))
	applying(t, p.cluster)
	remove(t, two)
	withdrawn(t, two)
	testkit.Eventually(t, "the other Application to be gone", func() error { return gone(two) })
	if now := delivered(t, one, p.cluster); now.UID != work.UID || now.DeletionTimestamp != nil {
		t.Error("its end has removed the work of the restored Application")
	}
	remove(t, one)
	withdrawn(t, one)
}

// Labels and annotations of other writers stay on the work. propagation corrects changes of the fields that
// it writes.
func TestWork_keepsFieldsOfOtherWriters(t *testing.T) {
	p := start(t)
	at := newPlace(t)
	app := at.deploy("guestbook")
	work := delivered(t, app, at.cluster)
	edit(t, work, func(w *workv1.ManifestWork) {
		w.Labels["example.com/theirs"], w.Annotations["example.com/theirs"] = "l", "a"
		w.Annotations[contract.HostingAnnotation] = "not/ours"
		w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
			Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "a", Name: "b"},
		}}
		w.Spec.DeleteOption = nil
		w.Spec.ManifestConfigs[len(w.Spec.ManifestConfigs)-1].FeedbackScrapeType = workv1.FeedbackPollType
	})
	testkit.Eventually(t, "the mended work", func() error {
		w := delivered(t, app, at.cluster)
		switch {
		case w.Spec.Executor != nil, w.Spec.DeleteOption == nil, w.Annotations[contract.HostingAnnotation] != "",
			w.Spec.ManifestConfigs[len(w.Spec.ManifestConfigs)-1].FeedbackScrapeType != workv1.FeedbackWatchType:
			return errors.New("not mended yet")
		case w.Labels["example.com/theirs"] != "l", w.Annotations["example.com/theirs"] != "a":
			t.Fatal("what is theirs was removed")
		}
		return nil
	})
	edit(t, app, func(a *argocd.Application) { a.Labels["new"] = "label" })
	testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"new":"label"`) })
	if w := delivered(t, app, at.cluster); w.Labels["example.com/theirs"] != "l" {
		t.Error("what is theirs was removed")
	}
	p.stop()
}

// The work delivers the AppProject. An edit of the AppProject reaches every work that carries it, and no
// other.
func TestProject_reachesEveryWorkThatCarriesIt(t *testing.T) {
	p := newPlace(t)
	project := &argocd.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "tenant"},
		Spec:       json.RawMessage(`{"destinations":[{"namespace":"*","server":"*"}],"sourceRepos":["*"]}`),
	}
	p.create(project)
	start(t, func(o *Options) { o.ArgoCDNamespace = p.namespace })
	tenant := func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"project":"default"`, `"project":"tenant"`, 1))
	}
	one, two, none := p.deploy("one", tenant), p.deploy("two", tenant), p.deploy("none")
	before := delivered(t, none, p.cluster)
	for _, app := range []*argocd.Application{one, two} {
		work := delivered(t, app, p.cluster)
		if len(work.Spec.Workload.Manifests) != 3 || !strings.Contains(string(work.Spec.Workload.Manifests[1].Raw), "AppProject") {
			t.Fatalf("the work has %d manifests", len(work.Spec.Workload.Manifests))
		}
		if rules := work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules; len(rules) != 2 {
			t.Errorf("on delete %v stay", rules)
		}
	}
	edit(t, project, func(a *argocd.AppProject) {
		a.Spec = json.RawMessage(`{"destinations":[{"namespace":"elsewhere","server":"*"}],"sourceRepos":["*"]}`)
	})
	for _, app := range []*argocd.Application{one, two} {
		testkit.Eventually(t, "the edit in "+app.Name, func() error {
			for _, w := range works(t, app) {
				if strings.Contains(string(w.Spec.Workload.Manifests[1].Raw), "elsewhere") {
					return nil
				}
			}
			return errors.New("not there")
		})
	}
	if after := delivered(t, none, p.cluster); after.ResourceVersion != before.ResourceVersion {
		t.Error("a work without the project was written")
	}
}

// propagation retries every failed write until it succeeds.
func TestRetry_repeatsEveryFailedWrite(t *testing.T) {
	gr := schema.GroupResource{Group: "work.open-cluster-management.io", Resource: "manifestworks"}
	for name, err := range map[string]error{
		"conflict":  apierrors.NewConflict(gr, "x", errors.New("changed")),
		"throttled": apierrors.NewTooManyRequests("busy", 0),
		"internal":  apierrors.NewInternalError(errors.New("broken")),
		"network":   http.ErrHandlerTimeout,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			var left atomic.Int64
			left.Store(2)
			fail := func(namespace string) error {
				if (namespace == p.namespace || namespace == p.cluster) && left.Add(-1) >= 0 {
					return err
				}
				return nil
			}
			start := startWith(t, func(c client.Client) client.Client {
				return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
						if err := fail(o.GetNamespace()); err != nil {
							return err
						}
						return c.Create(ctx, o, opts...)
					},
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
						if err := fail(o.GetNamespace()); err != nil {
							return err
						}
						return c.Patch(ctx, o, patch, opts...)
					},
					Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
						if err := fail(o.GetNamespace()); err != nil {
							return err
						}
						return c.Delete(ctx, o, opts...)
					},
				})
			})
			app := p.deploy("guestbook", func(a *argocd.Application) {
				a.Finalizers = []string{argocd.ResourcesFinalizer}
				delete(a.Annotations, argocd.SkipReconcileAnnotation)
			})
			delivered(t, app, p.cluster)
			awaitCondition(t, app, policy.WarningCondition, argocd.SkipReconcileAnnotation)
			left.Store(2)
			edit(t, app, func(a *argocd.Application) { a.Labels["new"] = "label" })
			testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"new":"label"`) })
			left.Store(2)
			remove(t, app)
			withdrawn(t, app)
			testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
			start.stop()
		})
	}
}

// A failed Application waits at most half a minute for the next retry, however often it has failed.
func TestControllerOptions_boundRetries(t *testing.T) {
	r := &watcher{options: Options{Concurrency: 1}}
	limiter := r.controllerOptions().RateLimiter
	if limiter == nil {
		t.Fatal("controller-runtime's own rate limiter waits up to 1000 seconds")
	}
	for range 100 {
		if wait := limiter.When(ctrl.Request{}); wait > 30*time.Second {
			t.Fatalf("a failure waits %s", wait)
		}
	}
}

// An Application name of maximal length results in a valid work.
func TestDelivery_acceptsTheLongestName(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy(strings.Repeat("a", 253))
	if work := delivered(t, app, p.cluster); len(work.Name) > 253 {
		t.Errorf("the name has %d characters", len(work.Name))
	}
	remove(t, app)
	withdrawn(t, app)
}
