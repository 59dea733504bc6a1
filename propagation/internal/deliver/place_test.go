// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
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

// newPlace creates a namespace, a ManagedCluster, and a PlacementDecision that binds them.
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

// available sets the Available condition of a ManagedCluster and the time of its last transition.
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

// bind creates or updates the PlacementDecision of p. The PlacementDecision then selects the
// clusters.
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

// app returns an Application of p with the pull label and the cluster annotation.
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

// edit updates the stored object, and retries after a conflict.
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

// cachedApplication returns an Application with the pull label and the cluster annotation.
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

// applying runs an agent that applies all works of a cluster until the test ends or stop is called.
func applying(t *testing.T, cluster string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			var list workv1.ManifestWorkList
			_ = hub.client.List(ctx, &list, client.InNamespace(cluster)) // the next pass retries
			for i := range list.Items {
				if w := &list.Items[i]; w.DeletionTimestamp == nil && appliedAt(w) == "" {
					_ = tryAnswer(client.ObjectKeyFromObject(w), metav1.ConditionTrue, metav1.ConditionTrue, "", nil) // the next pass retries
				}
			}
			return false, nil
		})
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// appliedAt returns the status of the Applied condition. It is empty if the agent has not reported the
// current generation.
func appliedAt(work *workv1.ManifestWork) metav1.ConditionStatus {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration < work.Generation {
		return ""
	}
	return c.Status
}

func orphans(work *workv1.ManifestWork) bool {
	return work.Spec.DeleteOption != nil && work.Spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan
}

// begun has the name of the current top-level test.
var begun struct {
	mu   sync.Mutex
	test string
}

// begin removes the objects of earlier tests, once for each test and before it starts a program. Each start
// of delivery reads all objects of the hub.
func begin(t *testing.T) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	begun.mu.Lock()
	defer begun.mu.Unlock()
	if begun.test == test {
		return
	}
	begun.test = test
	for _, o := range []client.Object{
		&argocd.Application{}, argocd.ApplicationSetMetadata(), &argocd.AppProject{}, &workv1.ManifestWork{}, &clusterv1beta1.PlacementDecision{}, &clusterv1.ManagedCluster{},
	} {
		kind, err := hub.client.GroupVersionKindFor(o)
		if err != nil {
			t.Fatalf("remove what is left: %v", err)
		}
		removeAll(t, kind)
	}
}

// removeAll removes all objects of a kind, whatever their finalizers.
func removeAll(t *testing.T, kind schema.GroupVersionKind) {
	t.Helper()
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(kind)
	if err := hub.client.List(context.Background(), left); err != nil {
		t.Fatalf("list what is left of kind %s: %v", kind.Kind, err)
	}
	namespaces := map[string]bool{}
	for i := range left.Items {
		o := &left.Items[i]
		o.SetGroupVersionKind(kind)
		namespaces[o.Namespace] = true
		if len(o.Finalizers) == 0 {
			continue
		}
		err := hub.client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if client.IgnoreNotFound(err) != nil {
			t.Fatalf("take the finalizers off %s %s: %v", kind.Kind, o.Name, err)
		}
	}
	for namespace := range namespaces {
		all := &metav1.PartialObjectMetadata{}
		all.SetGroupVersionKind(kind)
		if err := hub.client.DeleteAllOf(context.Background(), all, client.InNamespace(namespace)); err != nil {
			t.Fatalf("remove what is left of kind %s in %q: %v", kind.Kind, namespace, err)
		}
	}
}
