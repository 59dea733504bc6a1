// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// survivor is a Deployment with running pods. NAME is a placeholder for its name.
const survivor = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {nodeName: ` + env.NodeName + `, containers: [{name: c, image: "example.invalid/survivor:v1"}]}
`

// A hub Application is deleted and re-created fifty times on cluster1 and ten times on cluster2, half of them
// while propagation is down. A restore, kubectl replace --force and a regenerated ApplicationSet do the same.
// The objects on the managed cluster stay the same throughout.
func TestRecreation_keepsTheWorkload(t *testing.T) {
	newest := &recreated{cluster: "cluster1", up: 25, down: 5}
	oldest := &recreated{cluster: "cluster2", up: 5, down: 1} // a few rounds show a difference between the agents
	both := []*recreated{newest, oldest}
	for _, r := range both {
		r.start(t)
	}
	for i := range newest.up {
		for _, r := range both {
			if i < r.up {
				r.again(t)
			}
		}
		for _, r := range both {
			r.same(t)
		}
	}
	for i := range newest.down {
		withoutPropagation(t, func() {
			for _, r := range both {
				for range 5 {
					if i < r.down {
						r.again(t)
					}
				}
			}
		})
		for _, r := range both {
			r.same(t)
		}
	}
	for _, r := range both {
		awaitWell(t, "hub", r.app.Name)
		r.same(t)
	}
}

// recreated is an Application that is re-created up times while propagation runs, and five times in
// each of down outages.
type recreated struct {
	cluster  string
	up, down int
	app      *argocd.Application
	before   map[string]string
}

func (r *recreated) start(t *testing.T) {
	t.Helper()
	name := "survivor-" + r.cluster
	r.app = create(t, name, r.cluster, true)
	content := map[string]string{name + "/config.yaml": strings.ReplaceAll(survivor, "NAME", name)}
	if _, err := fleet.Git.Commit(t.Context(), "Survive", content); err != nil {
		t.Fatal(err)
	}
	await(t, "the Deployment and its pods to be there", func() (bool, string) {
		found := slices.Sorted(maps.Keys(running(t, r.cluster, name)))
		return len(found) == 4, fmt.Sprint(found)
	})
	awaitWell(t, "hub", name)
	r.before = running(t, r.cluster, name)
}

// again deletes the hub Application without its finalizer and re-creates it at once.
func (r *recreated) again(t *testing.T) {
	t.Helper()
	a := r.app
	patch(t, a, `{"metadata":{"finalizers":null}}`)
	if err := fleet.Hub.Client.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	r.app = &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name, Labels: a.Labels, Annotations: a.Annotations, Finalizers: []string{argocd.ResourcesFinalizer}},
		Spec:       a.Spec,
	}
	r.app.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	if err := fleet.Hub.Client.Create(t.Context(), r.app); err != nil {
		t.Fatal(err)
	}
}

// same waits until the Application has taken over its ManifestWork. It fails the test if the workload has
// changed.
func (r *recreated) same(t *testing.T) {
	t.Helper()
	awaitAdoption(t, r.app, r.cluster)
	if after := running(t, r.cluster, r.app.Name); !maps.Equal(r.before, after) {
		t.Fatalf("what runs has changed from %v to %v", r.before, after)
	}
}

// withoutPropagation calls do while no replica of propagation runs.
func withoutPropagation(t *testing.T, do func()) {
	t.Helper()
	replicas := propagation(t)
	for _, p := range replicas {
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		startAfterwards(t, p)
	}
	do()
	for _, p := range replicas {
		if err := errors.Join(p.Start(t.Context()), p.AwaitReady(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitAdoption waits until an Application has exactly one ManifestWork, with the Application's UID.
func awaitAdoption(t *testing.T, a *argocd.Application, cluster string) {
	t.Helper()
	await(t, a.Name+" to take over its work", func() (bool, string) {
		var list workv1.ManifestWorkList
		if err := fleet.Hub.Client.List(t.Context(), &list, client.InNamespace(cluster)); err != nil {
			return false, err.Error()
		}
		n, bound := 0, false
		for i := range list.Items {
			if w := &list.Items[i]; w.Annotations[contract.HubNameAnnotation] == a.Name {
				n++
				bound = w.DeletionTimestamp == nil && w.Annotations[contract.HubUIDAnnotation] == string(a.UID)
			}
		}
		return n == 1 && bound, fmt.Sprintf("%d works, bound: %t", n, bound)
	})
}

// running returns the UIDs of the delivered Application, its Deployment and its pods on a cluster.
func running(t *testing.T, cluster, name string) map[string]string {
	t.Helper()
	uids := map[string]string{}
	c := fleet.Cluster(cluster).Client
	for kind, o := range map[string]client.Object{
		"Application": &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}},
		"Deployment":  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "guestbook", Name: name}},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		} else if err == nil {
			uids[kind] = string(o.GetUID())
		}
	}
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace("guestbook"), client.MatchingLabels{"app": name}); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		uids["Pod "+pods.Items[i].Name] = string(pods.Items[i].UID)
	}
	return uids
}
