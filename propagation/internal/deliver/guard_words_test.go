// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"testing"

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

// What an ApplicationSet says counts after its end, across a restart, too: it is deleted
// together with the Applications that it is about.
func TestBudget_wordsOutliveApplicationSet(t *testing.T) {
	for name, c := range map[string]struct {
		say func(*generated)
		// left are how many works stay, and condition is what their Applications say.
		left      int
		condition string
	}{
		"approve": {say: func(g *generated) { g.setOverride(g.set, "approve") }},
		"hold":    {say: func(g *generated) { g.setOverride(g.set, "hold") }, left: many, condition: "of ApplicationSet %s/guestbook, which is gone: hold until"},
		"pause": {say: func(g *generated) {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"delivery"}}}`, contract.PausedAnnotation)
			if err := hub.client.Patch(context.Background(), g.set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				g.t.Fatal(err)
			}
		}, left: many, condition: "of ApplicationSet %s/guestbook (which is gone)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hubNamespace := newHubNamespace(t)
			first := start(t, guarded(hubNamespace))
			g := generate(t, argocd.ResourcesFinalizer)
			c.say(g)
			g.awaitRemembered(hubNamespace)
			first.stop()
			remove(t, g.set)
			start(t, guarded(hubNamespace))
			g.each(many, func(a *argocd.Application) { remove(t, a) })
			if c.left > 0 {
				for _, app := range g.apps {
					says(t, app, policy.WarningCondition, fmt.Sprintf(c.condition, g.namespace))
				}
				g.kept()
				g.setOverride(namespace(g.namespace), "approve") // which overrides what cannot be changed any more
			}
			g.awaitLeft(0)
		})
	}
}

// A tenant's word on the ApplicationSet does not keep what the administrator takes away.
func TestBudget_revocationIgnoresApplicationSet(t *testing.T) {
	hubNamespace := newHubNamespace(t)
	start(t, guarded(hubNamespace))
	g := generate(t)
	g.setOverride(g.set, "hold")
	remove(t, g.apps[0])
	testkit.Eventually(t, "the hold", func() error {
		if n := gauge(t, g.namespace); n != 1 {
			return fmt.Errorf("%v are held", n)
		}
		return nil
	})
	g.kept()
	g.setOverride(namespace(hubNamespace), "approve")
	g.bind()       // to no cluster
	g.awaitLeft(1) // but what the tenant has deleted
}
