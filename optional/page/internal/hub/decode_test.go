// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
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
		if err := errors.Join(argocd.AddToScheme(scheme), corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
			return err
		}
		hub, err = client.New(c, client.Options{Scheme: scheme})
		return err
	})
}

// The state of an Application's delivery comes from its labels and from propagation's conditions.
func TestAppOf_readsTheState(t *testing.T) {
	now := metav1.Now()
	say := func(kind, message string) []condition { return []condition{{Type: kind, Message: message}} }
	pull, render := map[string]string{contract.PullLabel: "true"}, map[string]string{contract.RenderedLabel: "true"}
	for name, test := range map[string]struct {
		why        string
		labels     map[string]string
		conditions []condition
		health     string
		deleting   bool
		want       model.State
	}{
		"delivered":        {"nothing to say", pull, nil, "Healthy", false, ""},
		"an error of its":  {"Argo CD's own errors say nothing of delivery", pull, say("SyncError", "no"), "Healthy", false, ""},
		"refused":          {"it is not delivered", pull, say("PullDeliveryError", "no decision"), "", false, model.Refused},
		"refused once run": {"a copy that stays does not change that", pull, say("PullDeliveryError", "invalid"), "Healthy", false, model.Refused},
		"held":             {"its deletion waits", pull, say("PullDeliveryWarning", contract.WithdrawalHeld+": 18 of 20"), "Healthy", false, model.Held},
		"held, warned":     {"also when there is more to say", pull, say("PullDeliveryWarning", "delivered, but its project; "+contract.WithdrawalHeld+": 18 of 20"), "Healthy", false, model.Held},
		"held, deleted":    {"also while it is being deleted", pull, say("PullDeliveryWarning", contract.WithdrawalHeld+": 18 of 20"), "Healthy", true, model.Held},
		"paused":           {"somebody paused it", pull, say("PullDeliveryWarning", "paused by ManagedCluster c1"), "Healthy", false, model.Paused},
		"warned":           {"delivered with a catch", pull, say("PullDeliveryWarning", "no skip-reconcile"), "Healthy", false, model.Warned},
		"deleting":         {"the cluster has not confirmed it", pull, say("PullDeliveryError", "waits for c1"), "Healthy", true, model.Deleting},
		"waiting":          {"nobody has said a word", pull, nil, "", false, model.Waiting},
		"invalid label":    {"propagation refuses it", map[string]string{contract.PullLabel: "maybe"}, say("PullDeliveryError", "no boolean"), "", false, model.Refused},
		"label gone, held": {"its deletion waits all the same", nil, say("PullDeliveryWarning", contract.WithdrawalHeld+": 18 of 20"), "Healthy", false, model.Held},
		"rendered":         {"the hub's Argo CD has its state", render, nil, "Healthy", false, model.Rendered},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sent{}
			s.Metadata.Labels, s.Metadata.Name, s.Metadata.UID = test.labels, "shop", "0123456789"
			s.Status.Conditions, s.Status.Health.Status = test.conditions, test.health
			if test.deleting {
				s.Metadata.DeletionTimestamp = &now
			}
			a := appOf(s)
			if a == nil || a.State != test.want {
				t.Errorf("%s: %+v", test.why, a)
			}
		})
	}
}

// appOf fills each field of a row, and limits texts from managed clusters.
func TestAppOf_fillsTheRow(t *testing.T) {
	var s sent
	raw := `{"metadata":{"namespace":"team-a","name":"shop-eu","uid":"0123456789","labels":{"` + contract.PullLabel + `":"true"},"annotations":{"` + contract.ClusterAnnotation + `":"eu"},
		"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"ApplicationSet","name":"shop","uid":"1"}],"managedFields":[{"manager":"x"}]},
		"spec":{"project":"default"},
		"status":{"health":{"status":"Degraded"},"sync":{"status":"OutOfSync","revision":"abc"},"operationState":{"phase":"Failed","startedAt":"2026-11-21T10:00:00Z","message":"exceeded quota","syncResult":{"resources":[{}]}},
		"conditions":[{"type":"ClusterUnreachableWarning","message":"eu is away"},{"type":"SyncError","message":"` + strings.Repeat("x", 100_000) + `"}]}}`
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		t.Fatal(err)
	}
	a := appOf(&s)
	want := model.AppFields{
		Namespace: "team-a", Name: "shop-eu", Set: "shop", Cluster: "eu", Work: "shop-eu-01234",
		Health: "Degraded", Sync: "OutOfSync", Revision: "abc", Phase: "Failed", Started: "2026-11-21T10:00:00Z", Stale: true,
	}
	if diff := cmp.Diff(want, a.AppFields); diff != "" {
		t.Error(diff)
	}
	var types []string
	for _, c := range a.Conditions {
		if types = append(types, c.Type); len(c.Message) > contract.MaxMessage {
			t.Errorf("%s has %d bytes", c.Type, len(c.Message))
		}
	}
	if !slices.Equal(types, []string{"ClusterUnreachableWarning", "SyncError", "OperationError"}) {
		t.Errorf("conditions %v", types)
	}
	s.Status.Health.Status, s.Status.Sync.Status = "Odd", ""
	if a := appOf(&s); a.Health != "Unknown" || a.Sync != "Unknown" {
		t.Errorf("%s, %s", a.Health, a.Sync)
	}
	s.Status.Health.Status, s.Status.Sync.Status, s.Status.Conditions = "Healthy", "Synced", nil
	if a := appOf(&s); len(a.Conditions) != 0 {
		t.Errorf("an operation error of what is well since: %v", a.Conditions)
	}
	s.Metadata.Labels = map[string]string{contract.RenderedLabel: "true"}
	for work, listed := range map[string]string{"shop-eu": `[]`, "team-a.shop-eu-e5f6a7b8": `[{"kind":"ManifestWork","name":"team-a.shop-eu-e5f6a7b8"}]`} {
		if err := json.Unmarshal([]byte(listed), &s.Status.Resources); err != nil {
			t.Fatal(err)
		}
		if a := appOf(&s); a.Work != work {
			t.Errorf("of works %s the page names %s", listed, a.Work)
		}
	}
	for _, labels := range []map[string]string{nil, {contract.PullLabel: "false"}} {
		s.Metadata.Labels = labels
		if a := appOf(&s); a != nil {
			t.Errorf("neither pulled nor rendered: %+v", a)
		}
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

// The fleet has all pulled and rendered Applications, and follows creations, updates and deletions. It
// ignores other Applications.
func TestApplications_followTheHub(t *testing.T) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	pull := map[string]string{contract.PullLabel: "true"}
	refused := `{"conditions":[{"type":"PullDeliveryError","message":"no <b>decision</b>","lastTransitionTime":"2026-11-21T10:00:00Z"}]}`
	app := application("shop", "refused", pull, refused)
	create(t, ns, app, application("shop", "fine", pull, `{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`), application("shop", "others", nil, `{"health":{"status":"Healthy"}}`))
	fleet := model.NewFleet()
	apps, err := NewApplications(config, fleet)
	if err != nil {
		t.Fatal(err)
	}
	if apps.Check(nil) == nil {
		t.Error("it is ready before it has read anything")
	}
	run(t, apps.Start)
	says := func(want ...string) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprint(want), func() error {
			got := lines(fleet)
			if !slices.Equal(got, want) || !apps.Synced() || apps.Check(nil) != nil {
				return fmt.Errorf("it says %q, synced %t", got, apps.Synced())
			}
			return nil
		})
	}
	line := "Refused refused guestbook/cluster1: no <b>decision</b>"
	says(" fine guestbook/cluster1: ", line)
	both := map[string]string{contract.PullLabel: "true", contract.RenderedLabel: "true"}
	create(t, application("shop", "whole", map[string]string{contract.RenderedLabel: "true"}, ""), application("shop", "both", both, refused))
	says(" fine guestbook/cluster1: ", "Refused both guestbook/cluster1: no <b>decision</b>", line, "Rendered whole guestbook/cluster1: ")
	remove := func(name string) {
		t.Helper()
		if err := hub.Delete(t.Context(), application("shop", name, nil, "")); err != nil {
			t.Fatal(err)
		}
	}
	remove("both")
	says(" fine guestbook/cluster1: ", line, "Rendered whole guestbook/cluster1: ")
	app.Status = json.RawMessage(`{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`)
	if err := hub.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	says(" fine guestbook/cluster1: ", " refused guestbook/cluster1: ", "Rendered whole guestbook/cluster1: ")
	app.Labels = nil // this is no longer a pulled Application
	if err := hub.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	remove("whole")
	says(" fine guestbook/cluster1: ")
}

// Leases reads the controllers' Leases, and reports a missing Lease.
func TestLeases_reportAMissingLease(t *testing.T) {
	renewed := metav1.NewMicroTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "multicluster-integrations-propagation"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	create(t, lease)
	leases := &Leases{Live: hub, Namespace: "default", Log: logr.Discard()}
	if known := leases.Known(); known != nil {
		t.Errorf("%v before they are read", known)
	}
	leases.read(t.Context())
	want := []model.Lease{{Controller: "propagation", Renewed: renewed.Time}, {Controller: "aggregation"}}
	if diff := cmp.Diff(want, leases.Known()); diff != "" {
		t.Error(diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	leases.read(ended) // all reads fail, so the last Leases stay
	if diff := cmp.Diff(want, leases.Known()); diff != "" {
		t.Error(diff)
	}
	for _, l := range leases.Known() {
		if !l.Old(time.Now()) {
			t.Errorf("%s works", l.Controller)
		}
	}
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := hub.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func run(t *testing.T, start func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// lines returns the Applications of namespace shop.
func lines(fleet *model.Fleet) []string {
	got := []string{}
	o := fleet.View(time.Now().Add(time.Hour)).Overview(model.Rights{Namespaces: []string{"shop"}})
	for _, s := range o.Sets {
		for _, a := range s.Rows {
			got = append(got, fmt.Sprintf("%s %s %s/%s: %s", a.State, a.Name, a.Set, a.Cluster, a.Message))
		}
	}
	slices.Sort(got)
	return got
}
