// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hubapps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	config *rest.Config
	hub    client.Client
)

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		config = c
		ctrl.SetLogger(logr.Discard())
		scheme := runtime.NewScheme()
		if err := argocd.AddToScheme(scheme); err != nil {
			return err
		}
		if err := corev1.AddToScheme(scheme); err != nil {
			return err
		}
		hub, err = client.New(c, client.Options{Scheme: scheme})
		return err
	})
}

func TestClassify(t *testing.T) {
	now := metav1.Now()
	say := func(kind, message string) []condition { return []condition{{Type: kind, Message: message}} }
	for name, test := range map[string]struct {
		why                string
		conditions         []condition
		health             string
		deleting, rendered bool
		want               State // empty: nothing to say
	}{
		"delivered":        {"its row says the rest", nil, "Healthy", false, false, ""},
		"an error of its":  {"Argo CD's own errors are in the row", say("SyncError", "no"), "Healthy", false, false, ""},
		"refused":          {"no row tells of it", say("PullDeliveryError", "no decision"), "", false, false, Refused},
		"refused once run": {"a copy that stays does not change that", say("PullDeliveryError", "invalid"), "Healthy", false, false, Refused},
		"held":             {"its withdrawal waits", say("PullDeliveryWarning", contract.WithdrawalHeld+": 18 of 20"), "Healthy", false, false, Held},
		"held, warned":     {"also when there is more to say", say("PullDeliveryWarning", "delivered, but its project; "+contract.WithdrawalHeld+": 18 of 20"), "Healthy", false, false, Held},
		"held, deleted":    {"also while it is being deleted", say("PullDeliveryWarning", contract.WithdrawalHeld+": 18 of 20"), "Healthy", true, false, Held},
		"paused":           {"somebody paused it", say("PullDeliveryWarning", "paused by ManagedCluster c1"), "Healthy", false, false, Paused},
		"warned":           {"delivered with a catch", say("PullDeliveryWarning", "no skip-reconcile"), "Healthy", false, false, Warned},
		"deleting":         {"the cluster has not proven it", say("PullDeliveryError", "waits for c1"), "Healthy", true, false, Deleting},
		"waiting":          {"nobody has said a word", nil, "", false, false, Waiting},
		"rendered":         {"the hub's Argo CD has its state", nil, "Healthy", false, true, Rendered},
	} {
		t.Run(name, func(t *testing.T) {
			o := &object{rendered: test.rendered}
			o.status.Conditions, o.status.Health.Status = test.conditions, test.health
			if test.deleting {
				o.DeletionTimestamp = &now
			}
			got, says := classify(o)
			if got.State != test.want || says != (test.want != "") {
				t.Errorf("%s: %q", test.why, got.State)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	apps := []*Application{
		{State: Rendered, Health: "Healthy", Sync: "Synced"}, {State: Rendered, Health: "Degraded"}, {State: Warned},
		{State: Refused, Name: "b"}, {State: Refused, Name: "a"}, {State: Held},
	}
	slices.SortFunc(apps, Compare)
	if got := fmt.Sprint(apps[0].Name, apps[1].Name, apps[2].State, apps[3].State, apps[4].Health, apps[5].Health); got != "abHeldWarningDegradedHealthy" {
		t.Errorf("the order is %s", got)
	}
}

func application(namespace, name string, labels map[string]string, status string) *argocd.Application {
	a := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: labels, Annotations: map[string]string{contract.ClusterAnnotation: "cluster1"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", UID: "1"}},
	}}
	a.Spec = json.RawMessage(`{"project":"default","destination":{"namespace":"x"}}`)
	if status != "" {
		a.Status = json.RawMessage(status)
	}
	return a
}

// The watch knows what is there at its start and what comes, and nothing of those that
// are none of its business.
func TestWatch(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	pull := map[string]string{contract.PullLabel: "true"}
	refused := `{"conditions":[{"type":"PullDeliveryError","message":"no <b>decision</b>","lastTransitionTime":"2026-11-21T10:00:00Z"}]}`
	app := application("shop", "refused", pull, refused)
	for _, o := range []client.Object{
		ns, app, application("shop", "fine", pull, `{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`),
		application("shop", "others", nil, refused),
	} {
		if err := hub.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	var changes atomic.Int64
	w, err := NewWatch(config, func(namespace string) {
		if namespace == "shop" {
			changes.Add(1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	says := func(want ...string) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprint(want), func() error {
			got := []string{}
			for _, a := range w.Applications(func(n string) bool { return n == "shop" }) {
				got = append(got, fmt.Sprintf("%s %s %s/%s: %s", a.State, a.Name, a.Set, a.Cluster, a.Message))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || !w.Synced() {
				return fmt.Errorf("it says %q, synced %t", got, w.Synced())
			}
			return nil
		})
	}
	line := "Refused refused guestbook/cluster1: no <b>decision</b>"
	says(line)
	if n := len(w.Applications(func(string) bool { return false })); n != 0 {
		t.Errorf("%d of a namespace that is not allowed", n)
	}
	if err := hub.Create(t.Context(), application("shop", "whole", map[string]string{contract.RenderedLabel: "true"}, "")); err != nil {
		t.Fatal(err)
	}
	both := map[string]string{contract.PullLabel: "true", contract.RenderedLabel: "true"}
	if err := hub.Create(t.Context(), application("shop", "both", both, refused)); err != nil {
		t.Fatal(err)
	}
	says("Refused both guestbook/cluster1: no <b>decision</b>", line, "Rendered whole guestbook/cluster1: ")
	if err := hub.Delete(t.Context(), application("shop", "both", nil, "")); err != nil {
		t.Fatal(err)
	}
	says(line, "Rendered whole guestbook/cluster1: ")
	before := changes.Load()
	app.Status = json.RawMessage(`{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`)
	if err := hub.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	says("Rendered whole guestbook/cluster1: ")
	if changes.Load() == before {
		t.Error("no change was reported")
	}
	if err := hub.Delete(t.Context(), application("shop", "whole", nil, "")); err != nil {
		t.Fatal(err)
	}
	says()
}

// A fleet may have 50,000 Applications with something to say: requests share them.
func TestStore_applicationsAreShared(t *testing.T) {
	s := newStore(func(string) {})
	all := func(string) bool { return true }
	held := func(namespace, name string) *object {
		return &object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, rendered: true}
	}
	if err := s.Replace([]any{held("a", "one"), held("b", "two")}, ""); err != nil {
		t.Fatal(err)
	}
	if first, again := s.list(all), s.list(all); len(first) != 2 || first[0] != again[0] && first[0] != again[1] {
		t.Errorf("%v and %v are copies", first, again)
	}
	steps := []struct {
		do   func(any) error
		o    *object
		want string
	}{
		{s.Add, held("a", "three"), "[a b]"}, {s.Delete, held("a", "one"), "[a b]"}, {s.Update, held("b", "two"), "[a b]"},
		{s.Delete, held("a", "three"), "[b]"}, {s.Delete, held("b", "two"), "[]"},
	}
	for i, step := range steps {
		if err := step.do(step.o); err != nil {
			t.Fatal(err)
		}
		namespaces := s.namespaced()
		slices.Sort(namespaces)
		if got := fmt.Sprint(namespaces); got != step.want {
			t.Errorf("step %d: namespaces %s, want %s", i, got, step.want)
		}
	}
}
