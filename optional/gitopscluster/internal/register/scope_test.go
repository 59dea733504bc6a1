// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// wishes is a Scope that returns the values that a test sets.
type wishes struct {
	mu    sync.Mutex
	want  map[string]clustersecret.Desired
	reads map[string]int
	queue enqueue.Queue
}

func (w *wishes) Want(_, cluster string) clustersecret.Desired {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads[cluster]++
	return w.want[cluster]
}

func (w *wishes) Taken(string, string, string) {}

func (w *wishes) set(cluster string, want clustersecret.Desired) {
	w.mu.Lock()
	w.want[cluster] = want
	w.mu.Unlock()
	w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}})
}

// setAndWait sets a cluster's Want and waits until the controller has read it. The controller has applied
// it when it reads the next one.
func (w *wishes) setAndWait(t *testing.T, cluster string, want clustersecret.Desired) {
	t.Helper()
	w.mu.Lock()
	before := w.reads[cluster]
	w.mu.Unlock()
	w.set(cluster, want)
	testkit.Eventually(t, "the wish to be read", func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.reads[cluster] == before {
			return fmt.Errorf("read %d times", before)
		}
		return nil
	})
}

func newScoped(t *testing.T) (*argo, *wishes) {
	t.Helper()
	a, w := newArgo(t), &wishes{want: map[string]clustersecret.Desired{}, reads: map[string]int{}}
	a.scope, a.requeue = w, w.queue.Source()
	return a, w
}

// The Secret of a cluster changes to one for an agent and back. At all times exactly one Secret of its name
// exists.
func TestReconcile_changesTheShapeInPlace(t *testing.T) {
	a, w := newScoped(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	watcher, err := client.NewWithWatch(hub.config, client.Options{Scheme: hub.scheme})
	if err != nil {
		t.Fatal(err)
	}
	events, err := watcher.Watch(ctx, &corev1.SecretList{}, client.InNamespace(a.namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Stop)
	a.start(nil)
	name := unique("c")
	a.cluster(name, map[string]string{"region": "eu"})
	plain := clustersecret.Desired{Registered: true, Decided: true, Holders: []string{"team/fleet"}}
	agent := func(config string) clustersecret.Desired {
		return clustersecret.Desired{Registered: true, Decided: true, Holders: plain.Holders, Agent: &clustersecret.Agent{Server: "https://proxy.argocd.svc:9090?agentName=" + name, Config: []byte(config)}}
	}
	shape := func(server, config string, isAgent bool) {
		t.Helper()
		a.registered(name, func(s *corev1.Secret) error {
			_, labelled := s.Labels["argocd-agent.argoproj-labs.io/agent-name"]
			skips := s.Annotations[argocd.SkipReconcileAnnotation] == "true"
			_, digested := s.Annotations[contract.ConfigDigestAnnotation]
			if string(s.Data["server"]) != server || string(s.Data["config"]) != config || labelled != isAgent || skips != isAgent || digested != isAgent || s.Labels["region"] != "eu" {
				return fmt.Errorf("server %s, config %s, labels %v, annotations %v", s.Data["server"], s.Data["config"], s.Labels, s.Annotations)
			}
			return nil
		})
	}
	w.set(name, plain)
	shape("https://"+name+"-control-plane:6443", "", false)
	first := a.registered(name, nil)
	w.set(name, agent("one"))
	shape("https://proxy.argocd.svc:9090?agentName="+name, "one", true)
	w.set(name, agent("two")) // a renewed certificate
	shape("https://proxy.argocd.svc:9090?agentName="+name, "two", true)
	testkit.Edit(t, hub.client, first, func(s *corev1.Secret) { s.Data["config"] = []byte("tampered with") })
	shape("https://proxy.argocd.svc:9090?agentName="+name, "two", true)
	w.set(name, clustersecret.Desired{Registered: true}) // undecided: the Secret does not change
	probe := unique("c")
	a.cluster(probe, nil)
	w.set(probe, plain)
	a.registered(probe, nil)
	shape("https://proxy.argocd.svc:9090?agentName="+name, "two", true)
	w.set(name, plain)
	shape("https://"+name+"-control-plane:6443", "", false)

	last := a.registered(name, nil)
	named := 0
	for e := range events.ResultChan() {
		s, ok := e.Object.(*corev1.Secret)
		if !ok || clustersecret.ClusterName(s) != name {
			continue
		}
		named++
		if s.UID != first.UID || e.Type == watch.Deleted {
			t.Errorf("%s of %s, which is not the one Secret", e.Type, s.Name)
		}
		if s.ResourceVersion == last.ResourceVersion {
			break
		}
	}
	if named != 6 { // created, agent, renewed, tampered with, repaired, plain
		t.Errorf("the Secret was seen %d times, want 6", named)
	}
}

// An undesired Secret is deleted only when all GitOpsClusters are known. An unknown holder stays on the
// Secret.
func TestReconcile_keepsAnUndecidedSecret(t *testing.T) {
	a, w := newScoped(t)
	a.start(nil)
	name := unique("c")
	a.cluster(name, nil)
	w.set(name, clustersecret.Desired{Registered: true, Decided: true, Holders: []string{"a/a", "b/b"}})
	held := func(by string) {
		t.Helper()
		a.registered(name, func(s *corev1.Secret) error {
			if got := s.Annotations[contract.GitOpsClustersAnnotation]; got != by {
				return fmt.Errorf("held by %s", got)
			}
			return nil
		})
	}
	held("a/a,b/b")
	uid := a.registered(name, nil).UID
	w.setAndWait(t, name, clustersecret.Desired{})              // no GitOpsCluster is known
	w.setAndWait(t, name, clustersecret.Desired{Decided: true}) // its holders no longer exist, and none has released it
	w.set(name, clustersecret.Desired{Registered: true, Holders: []string{"c/c"}})
	held("a/a,b/b,c/c")
	w.set(name, clustersecret.Desired{Registered: true, Decided: true, Holders: []string{"c/c"}})
	held("c/c")
	if got := a.registered(name, nil).UID; got != uid {
		t.Error("the Secret went and came back")
	}
	w.set(name, clustersecret.Desired{Decided: true, Released: []string{"c/c"}})
	a.absent(name)

	// An old Secret names no holder, and stays.
	w.set(name, clustersecret.Desired{Registered: true, Decided: true})
	held("")
	uid = a.registered(name, nil).UID
	w.setAndWait(t, name, clustersecret.Desired{Decided: true, Released: []string{"c/c"}})
	w.set(name, clustersecret.Desired{Registered: true, Decided: true, Holders: []string{"c/c", "d/d"}})
	held("c/c,d/d")
	if got := a.registered(name, nil).UID; got != uid {
		t.Error("the Secret that named nobody went and came back")
	}
	w.set(name, clustersecret.Desired{Decided: true, Released: []string{"c/c"}})
	held("d/d")
}

// If a ManagedCluster is missing, its Secret stays for the grace period. A restored hub may have its
// Secrets before its ManagedClusters.
func TestMissingCluster_keepsItsSecretForTheGracePeriod(t *testing.T) {
	a := newArgo(t)
	w := &wishes{want: map[string]clustersecret.Desired{}, reads: map[string]int{}}
	a.scope, a.requeue, a.grace = w, w.queue.Source(), time.Hour
	name := unique("c")
	w.want[name] = clustersecret.Desired{Registered: true, Decided: true}
	c := a.cluster(name, nil)
	_, stop := a.start(nil)
	before := a.registered(name, nil)
	if err := hub.client.Delete(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	w.setAndWait(t, name, clustersecret.Desired{Registered: true, Decided: true})
	a.cluster(name, map[string]string{"restored": "true"})
	after := a.registered(name, func(s *corev1.Secret) error {
		if s.Labels["restored"] != "true" {
			return errors.New("it is as before")
		}
		return nil
	})
	if after.UID != before.UID {
		t.Error("the Secret was deleted within the grace period")
	}
	stop()
	a.grace = 3 * time.Second
	a.start(nil)
	began := time.Now()
	if err := hub.client.Delete(context.Background(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	a.absent(name)
	if lasted := time.Since(began); lasted < a.grace {
		t.Errorf("it went after %s", lasted)
	}
}
