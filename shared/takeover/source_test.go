// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.Client
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(config *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config = config
		hub.client, err = client.New(config, client.Options{})
		return err
	})
}

// seen are the objects in the order in which they were reconciled.
type seen struct {
	mu    sync.Mutex
	names []string
}

func (s *seen) Reconcile(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, r.Name)
	return reconcile.Result{}, nil
}

func (s *seen) first(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names[:min(n, len(s.names))]...)
}

func TestNewLeaderBeginsWithWhatChanged(t *testing.T) {
	const objects = 100
	namespace := "takeover"
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	for i := range objects {
		create(t, configMap(namespace, fmt.Sprintf("old-%d", i)))
	}
	standby := testkit.NewStandby(t, hub.config, namespace)
	options := ctrl.Options{
		Logger:  logr.Discard(),
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	}
	standby.Elect(&options)
	mgr, err := ctrl.NewManager(hub.config, options)
	if err != nil {
		t.Fatal(err)
	}
	kind := Kind{Object: &corev1.ConfigMap{}, Concerns: Itself}
	lately, err := Source(t.Context(), mgr.GetCache(), kind)
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &seen{}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WatchesRawSource(lately).Complete(reconciler)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr)
	changed := configMap(namespace, "old-57")
	if err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(changed), changed); err != nil {
		t.Fatal(err)
	}
	standby.Knows(changed)
	testkit.Edit(t, hub.client, changed, func(c *corev1.ConfigMap) { c.Data = map[string]string{"new": "yes"} })
	standby.Knows(changed)
	if got := reconciler.first(1); got != nil {
		t.Fatalf("a standby reconciled %v", got)
	}
	standby.Lead()
	testkit.Until(t, "the leader to look at everything", func() bool { return len(reconciler.first(objects)) == objects })
	if diff := cmp.Diff([]string{"old-57"}, reconciler.first(1)); diff != "" {
		t.Errorf("begun with (-want +got):\n%s", diff)
	}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	if err := hub.client.Create(t.Context(), o); err != nil {
		t.Fatalf("create %s: %v", o.GetName(), err)
	}
}
