// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A change that comes between two leaders does not wait for the first look at the others.
func TestNewLeaderBeginsWithWhatChanged(t *testing.T) {
	const applications = 40
	p := newPlace(t)
	apps := make([]*argocd.Application, applications)
	for i := range apps {
		apps[i] = p.deploy(fmt.Sprintf("app-%d", i))
	}
	var mu sync.Mutex
	var created []string
	standby := testkit.NewStandby(t, hub.config, p.namespace)
	startAll(t, setting{elect: standby.Elect, wrap: func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				mu.Lock()
				defer mu.Unlock()
				created = append(created, o.GetName())
				return c.Create(ctx, o, opts...)
			},
		})
	}}, func(o *Options) { o.Concurrency = 1 })
	changed := apps[applications/2]
	standby.Knows(changed)
	edit(t, changed, func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), "main", "next", 1))
	})
	standby.Knows(changed)
	standby.Lead()
	for _, app := range apps {
		delivered(t, app, p.cluster)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := contract.WorkName(changed.Name, string(changed.UID)); created[0] != want {
		t.Errorf("the new leader began with %q, want %s", created[0], want)
	}
}

// What a sweep finds at the beginning of a leader's time comes after what changed before.
func TestSweptComeAfterWhatChanged(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request]("swept")
	defer queue.ShutDown()
	swept, changed := types.NamespacedName{Namespace: "team", Name: "swept"}, types.NamespacedName{Namespace: "team", Name: "changed"}
	enqueueSwept(t.Context(), event.GenericEvent{Object: &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: swept.Namespace, Name: swept.Name}}}, queue)
	queue.Add(reconcile.Request{NamespacedName: changed})
	for _, want := range []types.NamespacedName{changed, swept} {
		if got, _ := queue.Get(); got.NamespacedName != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
