// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// reconciler returns a Reconciler without a cache and agents. The requests for which refuse returns true fail.
func (f *fleet) reconciler(refuse func(verb, kind string) bool) *Reconciler {
	f.t.Helper()
	direct, err := client.NewWithWatch(hub.config, client.Options{Scheme: hub.scheme})
	if err != nil {
		f.t.Fatal(err)
	}
	try := func(verb, kind string) error {
		if refuse(verb, kind) {
			return fmt.Errorf("%s %s: injected", verb, kind)
		}
		return nil
	}
	c := interceptor.NewClient(direct, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := try("list", list.GetObjectKind().GroupVersionKind().Kind); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := try("patch", fmt.Sprintf("%T", o)); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	r := &Reconciler{
		client: c, live: c, options: f.options.withDefaults(), gate: &Gate{}, assignments: NewAssignments(""),
		status: &statusWriter{client: c, recorder: events.NewFakeRecorder(100), wrote: map[types.NamespacedName]written{}},
		since:  map[types.NamespacedName]map[string]time.Time{}, confirmed: map[types.NamespacedName]bool{},
		waits: map[types.NamespacedName]wait{}, failing: map[types.NamespacedName]time.Time{},
	}
	r.gate.open.Store(true)
	return r
}

// If an error lasts, the status reports it. It does not stay as the last pass without error left it.
func TestStatus_reportsAnErrorThatLasts(t *testing.T) {
	for name, c := range map[string]struct {
		verb, kind string
		// deleted is true if the GitOpsCluster is being deleted.
		deleted bool
		reason  string
	}{
		"Applications cannot be listed":         {"list", "ApplicationList", true, intent.ReasonDeleting},
		"add-ons cannot be listed":              {"list", "ManagedClusterAddOnList", true, intent.ReasonDeleting},
		"the finalizer cannot be added":         {"patch", "*v1beta1.GitOpsCluster", false, intent.ReasonNotEvaluated},
		"the finalizer cannot be removed again": {"patch", "*v1beta1.GitOpsCluster", true, intent.ReasonDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			f, ctx := newFleet(t), t.Context()
			var clusters []string
			if c.kind == "ApplicationList" {
				clusters = f.clusters(1)
			}
			f.placement("all", clusters...)
			_, stop := f.start()
			o := f.gitops("fleet", "all")
			f.ready(o, len(clusters))
			stop()
			if c.deleted {
				if err := hub.client.Delete(ctx, o); err != nil {
					t.Fatal(err)
				}
			} else {
				testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Finalizers = nil })
			}
			refused := true
			r := f.reconciler(func(verb, kind string) bool { return refused && verb == c.verb && kind == c.kind })
			reconcile := func() error {
				_, err := r.Reconcile(ctx, everyGitOpsCluster)
				return err
			}
			if err := reconcile(); err == nil || !strings.Contains(err.Error(), "injected") {
				t.Fatalf("the pass did not fail: %v", err)
			}
			f.ready(o, len(clusters)) // not reported at once
			r.failing[key(o)] = r.failing[key(o)].Add(-time.Hour)
			if err := reconcile(); err == nil {
				t.Fatal("the pass did not fail")
			}
			at := &v1beta1.GitOpsCluster{}
			if err := hub.client.Get(ctx, key(o), at); err != nil {
				t.Fatal(err)
			}
			is := meta.FindStatusCondition(at.Status.Conditions, v1beta1.ConditionReady)
			if is.Status != metav1.ConditionFalse || is.Reason != c.reason || !strings.Contains(is.Message, "injected") {
				t.Errorf("Ready is %+v", is)
			}
			refused = false
			if err := reconcile(); err != nil || len(r.failing) > 0 {
				t.Errorf("%v, failing is %v", err, r.failing)
			}
		})
	}
}

// If gitopscluster cannot read whether the agent of a cluster is gone, the Secret of this cluster stays.
// Other GitOpsClusters do not wait for that.
func TestDeletion_delaysNoOtherGitOpsCluster(t *testing.T) {
	f, ctx := newFleet(t), t.Context()
	f.withPrincipal()
	clusters := f.clusters(2)
	f.available(clusters[0])
	f.placement("all", clusters[0])
	f.placement("other", clusters[1])
	_, stop := f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.carry("192.0.2.1", clusters[0])
	testkit.Eventually(t, "the agent in the Secret", func() error {
		if is := (found{secrets: f.secrets(f.argocd)}); !is.hasAgent(clusters[0]) {
			return errors.New("it has none")
		}
		return nil
	})
	stop()
	if err := hub.client.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{
		&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: clusters[0], Name: agent.WorkName}},
		&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: clusters[0], Name: agent.AddOnName}},
	} {
		if err := hub.client.Delete(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	f.fails = "get manifestworks"
	record, stop := f.start()
	f.ready(f.gitops("other", "other"), 1)
	f.registered(clusters...)
	if record.counts()[f.fails] == 0 {
		t.Error("nothing failed")
	}
	stop()
	f.fails = ""
	f.start()
	f.gone(o)
}
