// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// awaitRemembered waits until what an ApplicationSet says is stored.
func (g *generated) awaitRemembered(hubNamespace string) {
	g.t.Helper()
	testkit.Eventually(g.t, "the words of the ApplicationSet to be stored", func() error {
		stored := &corev1.ConfigMap{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: hubNamespace, Name: "multicluster-integrations-deletion-budget"}, stored); err != nil {
			return err
		}
		if text := stored.Data["applicationsets"]; text == "" || text == "{}" {
			return fmt.Errorf("it is %q", text)
		}
		return nil
	})
}

// What an ApplicationSet holds counts after its end, across a restart, too: it is deleted
// together with the Applications that it keeps. Its approval and its pause end with it.
func TestBudget_holdOutlivesApplicationSet(t *testing.T) {
	for name, c := range map[string]struct {
		key, value string
		// condition is what its Applications say.
		condition string
	}{
		"approve": {key: contract.DeletionBudgetAnnotation, value: until("approve"), condition: "12 of 12 deliveries of ApplicationSet %s/guestbook would be withdrawn"},
		"hold":    {key: contract.DeletionBudgetAnnotation, value: until("hold"), condition: "of ApplicationSet %s/guestbook, which is gone: hold until"},
		"pause":   {key: contract.PausedAnnotation, value: "delivery", condition: "12 of 12 deliveries of ApplicationSet %s/guestbook would be withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hubNamespace := newHubNamespace(t)
			first := start(t, guarded(hubNamespace))
			g := generate(t, argocd.ResourcesFinalizer)
			g.annotate(c.key, c.value)
			if name == "hold" {
				g.awaitRemembered(hubNamespace)
			}
			first.stop()
			remove(t, g.set)
			start(t, guarded(hubNamespace))
			g.remove(g.apps...)
			for _, app := range g.apps {
				says(t, app, policy.WarningCondition, fmt.Sprintf(c.condition, g.namespace))
			}
			g.kept()
			g.decide(namespace(g.namespace), "approve") // which overrides what cannot be changed any more
			g.awaitLeft(0)
		})
	}
}

// Who deletes an ApplicationSet is told what ended with it.
func TestBudget_reportsWhatEndsWithApplicationSet(t *testing.T) {
	start(t, guarded(newHubNamespace(t)))
	g := generate(t)
	g.annotate(contract.PausedAnnotation, "delivery")
	says(t, g.deploy("waiting", g.owned), policy.WarningCondition, "paused (delivery)")
	remove(t, g.set)
	testkit.Eventually(t, "the Event on the Namespace", func() error {
		if n, note := heldEvents(t, "Namespace", g.namespace, policy.ReasonEndedWithSet); n != 1 || !strings.Contains(note, `paused="delivery" ended with it; 12 deliveries were left`) {
			return fmt.Errorf("there are %d: %s", n, note)
		}
		return nil
	})
	testkit.Eventually(t, "what waited to be delivered", func() error {
		if n := len(works(t, g.app("waiting"))); n != 1 {
			return fmt.Errorf("it has %d works", n)
		}
		return nil
	})
}

func until(word string) string {
	return word + " until " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
}

// annotate annotates the ApplicationSet.
func (g *generated) annotate(key, value string) {
	g.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := hub.client.Patch(context.Background(), g.set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		g.t.Fatal(err)
	}
}

// A tenant's word on the ApplicationSet does not keep what the administrator takes away.
func TestBudget_revocationIgnoresApplicationSet(t *testing.T) {
	hubNamespace := newHubNamespace(t)
	start(t, guarded(hubNamespace))
	g := generate(t)
	g.decide(g.set, "hold")
	remove(t, g.apps[0])
	testkit.Eventually(t, "the hold", func() error {
		if n := gauge(t, g.namespace); n != 1 {
			return fmt.Errorf("%v are held", n)
		}
		return nil
	})
	g.kept()
	g.decide(namespace(hubNamespace), "approve")
	g.bind()       // to no cluster
	g.awaitLeft(0) // also what the tenant has deleted, and holds
}
