// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const careful = "careful"

var carefulParts = []string{"one", "two", "three", "four", "five", "six"}

// An operator empties a Placement by mistake, and Argo CD's ApplicationSet controller deletes twelve
// Applications. Propagation holds the removals. After an undo every workload is the same. After an approval
// all workloads are pruned.
func TestBudget_holdsTheRemovalsOfAnEmptiedPlacement(t *testing.T) {
	if err := approveRemovals(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, part := range carefulParts {
		content["careful-"+part+"/config.yaml"] = strings.ReplaceAll(survivor, "NAME", "careful-"+part)
	}
	if _, err := fleet.Git.Commit(t.Context(), "Add what is dear", content); err != nil {
		t.Fatal(err)
	}
	objects, err := env.ReadObjects(filepath.Join("testdata", careful+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	afterwards(t, "delete what is careful", func(ctx context.Context) error { return removeCareful(ctx, objects) })
	afterwards(t, "approve removals again", func(ctx context.Context) error { return approveRemovals(ctx, true) })
	for _, o := range slices.Backward(objects) { // the Placement first, see docs/application.md
		if err := fleet.Hub.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	awaitCareful(t, "to be well", nil)
	held := "withdrawal held: 12 of 12 deliveries of ApplicationSet argocd/careful"
	before := empty(t, &held)
	same(t, before, "while it is held")
	undo(t)
	same(t, before, "after it was undone")

	// The same removals, this time intended and approved.
	before = empty(t, &held)
	same(t, before, "while it is held again")
	decideCareful(t, "approve")
	await(t, "all of it to be pruned", func() (bool, string) {
		left := carefulUIDs(t)
		return len(left) == 0 && len(hubUIDs(t)) == 0, fmt.Sprintf("%v and %d hub Applications", slices.Sorted(maps.Keys(left)), len(hubUIDs(t)))
	})
}

func carefulNames() (names []string) {
	for _, c := range fleet.Managed {
		for _, part := range carefulParts {
			names = append(names, "careful-"+c.Name+"-"+part)
		}
	}
	return names
}

// awaitCareful waits until all Applications are healthy and have other UIDs than earlier ones.
func awaitCareful(t *testing.T, what string, earlier map[string]string) {
	t.Helper()
	await(t, "all twelve "+what, func() (bool, string) {
		uids := hubUIDs(t)
		for _, name := range carefulNames() {
			a, ok := view.Application("hub", name)
			if !ok || !a.SyncedAndHealthy("") || earlier[name] == uids[name] {
				return false, fmt.Sprintf("%s: found: %t: %s", name, ok, a)
			}
		}
		return len(carefulUIDs(t)) == 2*len(carefulNames()), "not every Deployment is there"
	})
}

// selectClusters changes the Placement to select the clusters with a label, or all clusters for "".
func selectClusters(t *testing.T, label string) {
	t.Helper()
	p := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: careful}}
	predicates := "null"
	if label != "" {
		predicates = fmt.Sprintf(`[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{%q:"true"}}}}]`, label)
	}
	if err := fleet.Hub.Client.Patch(t.Context(), p, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"predicates":`+predicates+`}}`))); err != nil {
		t.Fatal(err)
	}
}

// awaitHeld waits until every Application is being deleted and its status contains held. It returns false if
// one does not exist any more.
func awaitHeld(t *testing.T, held string) (all bool) {
	t.Helper()
	await(t, "every Application to be held", func() (bool, string) {
		for _, name := range carefulNames() {
			a := &argocd.Application{}
			err := fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, a)
			if apierrors.IsNotFound(err) {
				return true, ""
			}
			if err != nil {
				return false, err.Error()
			}
			if a.DeletionTimestamp == nil || !strings.Contains(string(a.Status), held) {
				return false, fmt.Sprintf("%s, deleted %v: %s", name, a.DeletionTimestamp, a.Status)
			}
		}
		all = true
		return true, ""
	})
	return all
}

// empty changes the Placement to select no cluster, and waits until all removals are held. It returns the
// workloads from before. On a busy machine more than a second may pass between two deletions of the
// ApplicationSet controller. Then propagation removes the first few, because that needs no approval, and
// empty starts again. held is the text of the conditions.
func empty(t *testing.T, held *string) (before map[string]string) {
	t.Helper()
	for range 3 {
		before = carefulUIDs(t)
		selectClusters(t, "nowhere")
		if awaitHeld(t, *held) {
			return before
		}
		t.Log("deletions came one by one; once more")
		*held = "deliveries of ApplicationSet argocd/careful" // the removed ones count for ten minutes, too
		undo(t)
	}
	t.Fatal("three times an Application went before all were held")
	return nil
}

// undo corrects the Placement and releases the deleted Applications.
func undo(t *testing.T) {
	t.Helper()
	deleted := hubUIDs(t)
	selectClusters(t, "")
	decideCareful(t, "undo")
	awaitCareful(t, "to be back", deleted)
	decideCareful(t, "")
}

// decideCareful annotates the ApplicationSet with an override, or removes it for "".
func decideCareful(t *testing.T, word string) {
	t.Helper()
	value := "null"
	if word != "" {
		value = fmt.Sprintf("%q", word+" until "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	set := argocd.ApplicationSetMetadata()
	set.Namespace, set.Name = env.ArgoCDNamespace, careful
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, contract.DeletionBudgetAnnotation, value)
	if err := fleet.Hub.Client.Patch(t.Context(), set, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// hubUIDs returns the UIDs of the existing hub Applications.
func hubUIDs(t *testing.T) map[string]string {
	t.Helper()
	uids := map[string]string{}
	for _, name := range carefulNames() {
		a := &argocd.Application{}
		err := fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, a)
		if err == nil {
			uids[name] = string(a.UID)
		} else if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	return uids
}

// carefulUIDs returns the UIDs of the Applications and Deployments on the managed clusters.
func carefulUIDs(t *testing.T) map[string]string {
	t.Helper()
	uids := map[string]string{}
	for _, c := range fleet.Managed {
		for _, part := range carefulParts {
			name := "careful-" + c.Name + "-" + part
			for kind, o := range map[string]client.Object{
				"Application": &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}},
				"Deployment":  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "guestbook", Name: "careful-" + part}},
			} {
				err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
				if err == nil {
					uids[c.Name+" "+kind+" "+part] = string(o.GetUID())
				} else if !apierrors.IsNotFound(err) {
					t.Fatal(err)
				}
			}
		}
	}
	return uids
}

func same(t *testing.T, before map[string]string, when string) {
	t.Helper()
	if after := carefulUIDs(t); !maps.Equal(before, after) {
		t.Fatalf("%s what runs has changed from %v to %v", when, before, after)
	}
}

// removeCareful approves the removal and deletes the objects that a failed test has left.
func removeCareful(ctx context.Context, objects []*unstructured.Unstructured) error {
	set := argocd.ApplicationSetMetadata()
	set.Namespace, set.Name = env.ArgoCDNamespace, careful
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"approve until %s"}}}`, contract.DeletionBudgetAnnotation, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	errs := []error{client.IgnoreNotFound(fleet.Hub.Client.Patch(ctx, set, client.RawPatch("application/merge-patch+json", []byte(patch))))}
	for _, o := range objects {
		errs = append(errs, client.IgnoreNotFound(fleet.Hub.Client.Delete(ctx, o)))
	}
	return errors.Join(errs...)
}
