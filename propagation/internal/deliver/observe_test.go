// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func adopt(how string) func(*argocd.Application) {
	return func(a *argocd.Application) {
		if a.Annotations[contract.ManagementPolicyAnnotation] = how; how == "" {
			delete(a.Annotations, contract.ManagementPolicyAnnotation)
		}
	}
}

// answer writes an agent's status of the Application into a work, for the current generation.
func answer(t *testing.T, key client.ObjectKey, applied, available metav1.ConditionStatus, message string, values map[string]string) {
	t.Helper()
	if err := tryAnswer(key, applied, available, message, values); err != nil {
		t.Fatalf("answer for ManifestWork %s: %v", key, err)
	}
}

func tryAnswer(key client.ObjectKey, applied, available metav1.ConditionStatus, message string, values map[string]string) error {
	for {
		work := &workv1.ManifestWork{}
		if err := hub.client.Get(context.Background(), key, work); err != nil {
			return err
		}
		now := metav1.Now()
		condition := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
			return metav1.Condition{Type: kind, Status: status, Reason: "Agent", Message: message, ObservedGeneration: work.Generation, LastTransitionTime: now}
		}
		existing := payload.DeliveredBy(&work.Spec)
		var feedback []workv1.FeedbackValue
		var app argocd.Application
		if n := len(work.Spec.Workload.Manifests); n > 0 && json.Unmarshal(work.Spec.Workload.Manifests[n-1].Raw, &app) == nil && slices.Contains([]string{"end-without-cascade", "stay-without-automation"}, app.Annotations[contract.RequestAnnotation]) {
			values = maps.Clone(values)
			if values == nil {
				values = map[string]string{}
			}
			values[contract.FeedbackRequest] = app.Annotations[contract.RequestAnnotation]
		}
		for name, value := range values {
			feedback = append(feedback, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
		}
		work.Status = workv1.ManifestWorkStatus{
			Conditions: []metav1.Condition{condition(workv1.WorkApplied, applied, map[metav1.ConditionStatus]string{metav1.ConditionFalse: "Failed to apply manifest work"}[applied])},
			ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{{
				ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: existing.Namespace, Name: existing.Name},
				StatusFeedbacks: workv1.StatusFeedbackResult{Values: feedback},
				Conditions:      []metav1.Condition{condition(workv1.ManifestApplied, applied, message), condition(workv1.ManifestAvailable, available, "")},
			}}},
		}
		err := hub.client.Status().Update(context.Background(), work)
		if apierrors.IsConflict(err) {
			continue
		}
		return err
	}
}

// An observed Application is read and compared, and never changed. Neither a change on the hub nor a pause
// writes the work, and the operation waits. Once the annotation is removed, the same work delivers the
// Application.
func TestManagementPolicy_observesWithoutWrites(t *testing.T) {
	p := newPlace(t)
	start(t)
	app := p.deploy("shop", adopt("observe"), func(a *argocd.Application) { a.Operation = json.RawMessage(`{"sync":{}}`) })
	work := delivered(t, app, p.cluster)
	key := client.ObjectKeyFromObject(work)
	awaitCondition(t, app, policy.WarningCondition, "has not reported")
	answer(t, key, metav1.ConditionTrue, metav1.ConditionFalse, "", nil)
	awaitCondition(t, app, policy.WarningCondition, "has no Application "+p.namespace+"/shop")
	values := map[string]string{
		contract.FeedbackRepoURL: "https://git.example.com/apps.git", contract.FeedbackPath: "guestbook", contract.FeedbackTargetRevision: "v1",
		contract.FeedbackProject: "default", contract.FeedbackDestinationNamespace: "guestbook", contract.FeedbackSyncStatus: argocd.SyncSynced,
	}
	answer(t, key, metav1.ConditionTrue, metav1.ConditionTrue, "", values)
	awaitCondition(t, app, policy.WarningCondition, `delivering would change targetRevision "v1" → "main"; remove the annotation to deliver; its operation waits`)
	edit(t, app, func(a *argocd.Application) {
		a.Spec = []byte(strings.Replace(string(a.Spec), `"main"`, `"v1"`, 1))
	})
	awaitCondition(t, app, policy.WarningCondition, "would change nothing of source")
	if now := works(t, app)[0]; now.Generation != work.Generation {
		t.Errorf("a change of an observed Application wrote its work: generation %d became %d", work.Generation, now.Generation)
	}
	pause(t, namespace(p.namespace), "sync") // an observing work has no automation
	p.heldBack()
	if now := works(t, app)[0]; now.Generation != work.Generation || now.Annotations[contract.PausedAnnotation] != "" {
		t.Errorf("a pause wrote the work of an observed Application: generation %d became %d", work.Generation, now.Generation)
	}
	pause(t, namespace(p.namespace), "")

	edit(t, app, adopt(""))
	testkit.Eventually(t, "the delivery", func() error {
		now := works(t, app)
		if len(now) != 1 || now[0].UID != work.UID || now[0].Annotations[contract.ObservedAnnotation] != "" || payload.DeliveredBy(&now[0].Spec) != payload.DeliveredName(app) {
			return fmt.Errorf("%d works; %v", len(now), storedConditions(t, app))
		}
		if c := now[0].Spec.ManifestConfigs; c[len(c)-1].UpdateStrategy.Type != workv1.UpdateStrategyTypeServerSideApply {
			return fmt.Errorf("it is applied by %s", c[len(c)-1].UpdateStrategy.Type)
		}
		return nil
	})

	// The agent owns an applied Application. If propagation observed it again, its end would prune it.
	before := works(t, app)[0]
	edit(t, app, adopt("observe"))
	awaitCondition(t, app, policy.ErrorCondition, "is delivered to cluster")
	if now := works(t, app)[0]; now.Generation != before.Generation {
		t.Error("a delivered Application became one that is only read")
	}
}

// The deletion budget does not count works that only observe.
func TestBudget_countsNoObservedApplications(t *testing.T) {
	start(t, func(o *Options) {
		o.Withdrawals.Group.Percent, o.Withdrawals.Group.Least = 0, 0
	})
	p := newPlace(t)
	counted := p.deploy("counted")
	seen := p.deploy("seen", adopt("observe"), func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	delivered(t, counted, p.cluster)
	delivered(t, seen, p.cluster)
	remove(t, counted)
	remove(t, seen)
	withdrawn(t, seen)
	testkit.Eventually(t, "the observed Application to go", func() error { return gone(seen) })
	if own := works(t, counted); len(own) != 1 || own[0].DeletionTimestamp != nil {
		t.Error("the other was not held")
	}
}

// An existing Application that must not be taken over is reported with the agent's message.
func TestManagementPolicy_reportsATakeoverConflict(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("shop", adopt("no-takeover"))
	work := delivered(t, app, p.cluster)
	const conflict = `Failed to apply manifest: Apply failed with 1 conflict: conflict with "kubectl" using argoproj.io/v1alpha1: .spec.source.path`
	answer(t, client.ObjectKeyFromObject(work), metav1.ConditionFalse, metav1.ConditionTrue, conflict, nil)
	awaitCondition(t, app, policy.WarningCondition, conflict)
	awaitCondition(t, app, policy.WarningCondition, "remove the annotation to take it over")
	edit(t, app, adopt(""))
	awaitCondition(t, app, policy.WarningCondition, "")
	if c := delivered(t, app, p.cluster).Spec.ManifestConfigs; !c[len(c)-1].UpdateStrategy.ServerSideApply.Force {
		t.Error("it does not take over what is there")
	}
}

func TestManagementPolicy_keepsTheDeliveryIfInvalid(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("shop", adopt("Observe"))
	awaitCondition(t, app, policy.ErrorCondition, "want no-takeover or observe")
	if own := works(t, app); len(own) > 0 {
		t.Errorf("there are %d works", len(own))
	}
	edit(t, app, adopt("no-takeover"))
	work := delivered(t, app, p.cluster)
	edit(t, app, adopt("sometimes"))
	awaitCondition(t, app, policy.ErrorCondition, "keeps what was delivered before")
	if now := delivered(t, app, p.cluster); now.UID != work.UID || now.Generation != work.Generation {
		t.Error("a slip has cost the copy")
	}
}

// deletionPolicy sets the deletion policy of an object, or removes it if the value is empty.
func deletionPolicy(t *testing.T, o client.Object, value string) {
	t.Helper()
	text := "null"
	if value != "" {
		text = fmt.Sprintf("%q", value)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, contract.DeletionPolicyAnnotation, text)
	if err := hub.client.Patch(context.Background(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// staying waits until a work has the orphan mark, or has none.
func staying(t *testing.T, app *argocd.Application, want bool) *workv1.ManifestWork {
	t.Helper()
	var work workv1.ManifestWork
	testkit.Eventually(t, fmt.Sprintf("what is delivered to stay: %t", want), func() error {
		own := works(t, app)
		if len(own) != 1 || orphans(&own[0]) != want || (own[0].Annotations[contract.OnWithdrawAnnotation] == "orphan") != want {
			return fmt.Errorf("%d works; %v", len(own), storedConditions(t, app))
		}
		work = own[0]
		return nil
	})
	return &work
}

func applyWell(t *testing.T, work *workv1.ManifestWork) {
	t.Helper()
	answer(t, client.ObjectKeyFromObject(work), metav1.ConditionTrue, metav1.ConditionTrue, "", nil)
}

// stillExists waits for the delivery of another Application, and fails if the work was deleted by then.
func stillExists(t *testing.T, app *argocd.Application) {
	t.Helper()
	p := newPlace(t)
	delivered(t, p.deploy("another"), p.cluster)
	if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp != nil {
		t.Fatalf("the work of %s was deleted", app.Name)
	}
}

// Before an orphan is removed, its ending is written once. The work is deleted only after its agent has
// applied the ending.
func TestOrphan_isAppliedBeforeTheRemoval(t *testing.T) {
	start(t)
	late := func(t *testing.T, app *argocd.Application) { deletionPolicy(t, app, "orphan"); remove(t, app) }
	for name, end := range map[string]func(*testing.T, *place, *argocd.Application){
		"deleted":          func(t *testing.T, _ *place, app *argocd.Application) { late(t, app) },
		"label removed":    func(t *testing.T, _ *place, app *argocd.Application) { edit(t, app, unlabel) },
		"binding lost":     func(_ *testing.T, p *place, _ *argocd.Application) { p.bind() },
		"deleted at once":  func(t *testing.T, _ *place, app *argocd.Application) { remove(t, app) },
		"long since known": func(t *testing.T, _ *place, app *argocd.Application) { remove(t, app) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			app := p.deploy("shop", func(a *argocd.Application) {
				a.Finalizers = []string{argocd.ResourcesFinalizer}
				if name == "deleted at once" {
					a.Finalizers = nil
				}
				if name != "deleted" {
					a.Annotations[contract.DeletionPolicyAnnotation] = "orphan"
				}
			})
			first := delivered(t, app, p.cluster)
			edit(t, first, func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
			generation := first.Generation
			if name == "deleted" {
				generation++
			}
			end(t, p, app)
			work := staying(t, app, true)
			stillExists(t, app)
			if work.Generation != generation {
				t.Errorf("it was written %d times, want %d", work.Generation, generation)
			}
			if !strings.HasPrefix(name, "deleted at") {
				awaitCondition(t, app, policy.WarningCondition, "to apply how it ends")
			}
			applyWell(t, work)
			withdrawn(t, app)
			if strings.Contains(name, "deleted") || name == "long since known" {
				testkit.Eventually(t, "the Application to go", func() error { return gone(app) })
			}
		})
	}
}

func unlabel(a *argocd.Application) { delete(a.Labels, contract.PullLabel) }

// The policy of an ApplicationSet applies to all its Applications, and their works keep it after the
// ApplicationSet is deleted. The policy of an Application takes precedence.
func TestOrphan_followsTheApplicationSet(t *testing.T) {
	start(t, func(o *Options) { o.RecreateGrace = 0 })
	g := generate(t)
	for _, app := range g.apps[:3] {
		finalized(t, delivered(t, app, g.cluster))
	}
	deletionPolicy(t, g.set, "orphan")
	staying(t, g.apps[0], true)
	edit(t, g.apps[1], func(a *argocd.Application) { a.Annotations[contract.DeletionPolicyAnnotation] = "prune" })
	staying(t, g.apps[1], false)

	remove(t, g.set)
	edit(t, g.apps[0], func(a *argocd.Application) { // while it waits for the garbage collector
		a.Spec = []byte(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"other"`, 1))
	})
	testkit.Eventually(t, "the change", func() error { return carries(t, g.apps[0], `"path":"other"`) })
	work := staying(t, g.apps[0], true)
	remove(t, g.apps[0])
	testkit.Eventually(t, "the Application to go", func() error { return gone(g.apps[0]) })
	stillExists(t, g.apps[0])
	applyWell(t, work)
	withdrawn(t, g.apps[0])

	edit(t, g.apps[2], func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	applyWell(t, staying(t, g.apps[1], false))
	remove(t, g.apps[1]) // its agent has applied the prune policy
	stop := applying(t, g.cluster)
	withdrawn(t, g.apps[1])
	stop()
	// The ApplicationSet is deleted, and the Application changes its policy back to prune.
	edit(t, g.apps[2], func(a *argocd.Application) { a.Annotations[contract.DeletionPolicyAnnotation] = "prune" })
	remove(t, g.apps[2])
	testkit.Eventually(t, "what is to be pruned not to stay", func() error {
		for _, w := range works(t, g.apps[2]) {
			if orphans(&w) {
				return errors.New("it stays")
			}
			// propagation may delete the work as soon as it is applied.
			if err := tryAnswer(client.ObjectKeyFromObject(&w), metav1.ConditionTrue, metav1.ConditionTrue, "", nil); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		return nil
	})
	withdrawn(t, g.apps[2])
}

// The policy of an ApplicationSet also applies to a work that a pause kept unmarked until the ApplicationSet was
// deleted together with its Applications.
func TestOrphan_outlivesTheApplicationSet(t *testing.T) {
	start(t)
	g := newSet(t)
	app := g.deploy("guestbook", g.owned, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, g.cluster)
	finalized(t, work)
	pause(t, clusterObject(g.cluster), "delivery")
	g.heldBack()
	deletionPolicy(t, g.set, "orphan")
	awaitCondition(t, app, policy.WarningCondition, "1 change waits")
	remove(t, g.set)
	remove(t, app)
	applyWell(t, staying(t, app, true))
	withdrawn(t, app)
	testkit.Eventually(t, "the Application to go", func() error { return gone(app) })
}

// The budget does not count orphans, because they keep running. A hold of an operator still applies to them.
func TestBudget_countsNoOrphans(t *testing.T) {
	start(t, func(o *Options) { o.Withdrawals.Group.Percent, o.Withdrawals.Group.Least = 0, 0 })
	g := generate(t, argocd.ResourcesFinalizer)
	deletionPolicy(t, g.set, "orphan")
	for _, app := range g.apps {
		applyWell(t, staying(t, app, true))
	}
	annotate(t, g.set, "hold until "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	remove(t, g.apps[0])
	awaitCondition(t, g.apps[0], policy.WarningCondition, "withdrawal held by annotation")
	stillExists(t, g.apps[0])
	annotate(t, g.set, nil)
	for _, app := range g.apps {
		remove(t, app)
	}
	for _, app := range g.apps {
		withdrawn(t, app)
	}
}

// An unreachable cluster cannot apply the ending. The user may abandon the hub Application, with an Event.
// The work is deleted after the cluster has returned and applied the ending.
func TestOrphan_waitsForAnUnreachableCluster(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("shop", func(a *argocd.Application) {
		a.Finalizers = []string{argocd.ResourcesFinalizer}
		a.Annotations[contract.DeletionPolicyAnnotation] = "orphan"
	})
	work := staying(t, app, true)
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
	remove(t, app)
	awaitCondition(t, app, policy.WarningCondition, "add abandon to the annotation of this Application")
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.DeletionPolicyAnnotation] = "orphan, abandon" })
	testkit.Eventually(t, "the Application to go", func() error { return gone(app) })
	stillExists(t, app)
	testkit.Eventually(t, "the Event", func() error {
		return recorded(app, "do not delete them, or the cluster prunes everything: "+p.cluster+"/"+work.Name)
	})
	applyWell(t, work)
	withdrawn(t, app)
}

// If the deletion policy is invalid, propagation reports it and removes nothing.
func TestDeletionPolicy_removesNothingIfInvalid(t *testing.T) {
	start(t)
	g := generate(t, argocd.ResourcesFinalizer)
	deletionPolicy(t, g.set, "orphans")
	awaitCondition(t, g.apps[0], policy.ErrorCondition, "want prune or orphan")
	remove(t, g.apps[0])
	awaitCondition(t, g.apps[0], policy.ErrorCondition, "nothing is withdrawn: annotation "+contract.DeletionPolicyAnnotation)
	stillExists(t, g.apps[0])
	deletionPolicy(t, g.set, "")
	withdrawn(t, g.apps[0])
	awaitCondition(t, g.apps[1], policy.ErrorCondition, "")
}
