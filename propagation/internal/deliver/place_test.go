// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

var serial atomic.Int64

// place is a namespace that may deliver to a cluster.
type place struct {
	t                  *testing.T
	namespace, cluster string
}

// newPlace makes a namespace, a ManagedCluster and, so that the one may use the
// other, a PlacementDecision.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, namespace: fmt.Sprintf("team-%d", serial.Add(1)), cluster: newCluster(t)}
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})
	p.bind(p.cluster)
	return p
}

func newCluster(t *testing.T) string {
	t.Helper()
	p := &place{t: t}
	name := fmt.Sprintf("cluster-%d", serial.Add(1))
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	p.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	available(t, name, metav1.ConditionTrue, time.Now())
	return name
}

// available is what the hub says of a cluster, as of since.
func available(t *testing.T, cluster string, status metav1.ConditionStatus, since time.Time) {
	t.Helper()
	for {
		c := &clusterv1.ManagedCluster{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Name: cluster}, c); err != nil {
			t.Fatalf("get ManagedCluster: %v", err)
		}
		c.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "ManagedClusterAvailable", LastTransitionTime: metav1.NewTime(since),
		}}
		err := hub.client.Status().Update(context.Background(), c)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			t.Fatalf("write the status of ManagedCluster %s: %v", cluster, err)
		}
		return
	}
}

// bind makes a PlacementDecision of that name that selects clusters.
func (p *place) bind(clusters ...string) {
	p.t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "decision"}}
	err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(d), d)
	if apierrors.IsNotFound(err) {
		p.create(d)
	} else if err != nil {
		p.t.Fatalf("get PlacementDecision: %v", err)
	}
	d.Status.Decisions = []clusterv1beta1.ClusterDecision{}
	for _, c := range clusters {
		d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
	}
	if err := hub.client.Status().Update(context.Background(), d); err != nil {
		p.t.Fatalf("write PlacementDecision: %v", err)
	}
}

// app returns an Application of the place that is to be delivered.
func (p *place) app(name string, change ...func(*argocd.Application)) *argocd.Application {
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: name,
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: p.cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook","targetRevision":"main"},"destination":{"namespace":"guestbook","name":"` + p.cluster + `"}}`),
	}
	for _, c := range change {
		c(a)
	}
	return a
}

// deploy creates app(name).
func (p *place) deploy(name string, change ...func(*argocd.Application)) *argocd.Application {
	p.t.Helper()
	a := p.app(name, change...)
	p.create(a)
	return a
}

func (p *place) create(o client.Object) {
	p.t.Helper()
	begin(p.t)
	if err := hub.client.Create(context.Background(), o); err != nil {
		p.t.Fatalf("create %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
	}
}

// edit changes the stored object.
func edit[T client.Object](t *testing.T, o T, change func(T)) {
	t.Helper()
	for {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatalf("get %T %s: %v", o, o.GetName(), err)
		}
		change(o)
		err := hub.client.Update(context.Background(), o)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			t.Fatalf("update %T %s: %v", o, o.GetName(), err)
		}
		return
	}
}

func remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := hub.client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete %T %s: %v", o, o.GetName(), err)
	}
}

const cachedSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

// cachedApplication is an Application that is to be delivered.
func cachedApplication() *argocd.Application {
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", UID: "0123456789abcdef",
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(cachedSpec),
	}
}

func decode[T any](tb testing.TB, raw []byte) *T {
	tb.Helper()
	o := new(T)
	if err := json.Unmarshal(raw, o); err != nil {
		tb.Fatal(err)
	}
	return o
}
