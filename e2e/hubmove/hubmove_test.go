// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hubmove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	cluster = "cluster1"
	// moved is the Application that is restored on the new hub. forgotten is not restored.
	moved, forgotten = "moved", "forgotten"
)

// content is the manifest of an Application. NAME is a placeholder for its name.
const content = `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {nodeName: ` + env.NodeName + `, containers: [{name: c, image: "example.invalid/move:v1"}]}
`

var fleet *env.Fleet

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{Clusters: []string{cluster}, Product: []string{env.Propagation}}, func(ctx context.Context, f *env.Fleet) error {
		fleet = f
		return scenario.Prepare(ctx, f)
	}))
}

// A fleet moves to a hub that has its Applications from a backup, with other UIDs and without ManifestWorks.
// The new hub delivers the same objects on the managed cluster again. They stay the same after the agent has
// removed the old hub's work. An Application that was not restored is pruned then.
func TestHubMove_keepsTheDeliveredObjects(t *testing.T) {
	git := map[string]string{}
	for _, name := range []string{moved, forgotten} {
		git[name+"/config.yaml"] = strings.ReplaceAll(content, "NAME", name)
	}
	if _, err := fleet.Git.Commit(t.Context(), "Move", git); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{moved, forgotten} {
		if err := fleet.Hub.Client.Create(t.Context(), application(name)); err != nil {
			t.Fatal(err)
		}
		awaitDelivered(t, fleet.Hub, name)
		env.Await(t, name+" to run", func(ctx context.Context) (bool, string) {
			found := running(ctx, t, name)
			return len(found) == 3, fmt.Sprint(found)
		})
	}
	before := running(t.Context(), t, moved)

	// 1. The old hub stops writing.
	p, err := fleet.Processes.Get(env.Propagation + "-0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	// 2. The new hub has the restored objects and holds removals.
	hub, err := fleet.StartSecondHub(t.Context(), "hub2")
	if err != nil {
		t.Fatal(err)
	}
	restore(t, hub)
	if err := fleet.Product.StartProductOn(t.Context(), hub, env.Propagation, 1); err != nil {
		t.Fatal(err)
	}

	// 3. The agents use the new hub, and their clusters are selected.
	managed := fleet.Cluster(cluster)
	if err := fleet.SwitchHub(t.Context(), managed, hub); err != nil {
		t.Fatal(err)
	}
	selectCluster(t, hub)
	awaitDelivered(t, hub, moved)
	if after := running(t.Context(), t, moved); !maps.Equal(before, after) {
		t.Fatalf("moved, what runs has changed from %v to %v", before, after)
	}

	// 4. The agent removes the old hub's work after its grace period, which is an hour by default.
	agent, err := fleet.Processes.Get(cluster + "-work-agent-of-hub2")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(agent.Stop(t.Context()), fleet.SwitchHub(t.Context(), managed, hub, "--appliedmanifestwork-eviction-grace-period=1s")); err != nil {
		t.Fatal(err)
	}
	env.Await(t, "the agent to forget the old hub", func(ctx context.Context) (bool, string) {
		var list workv1.AppliedManifestWorkList
		if err := managed.Client.List(ctx, &list); err != nil {
			return false, err.Error()
		}
		return len(list.Items) == 1 && len(running(ctx, t, forgotten)) == 0, fmt.Sprintf("%d works, left %v", len(list.Items), running(ctx, t, forgotten))
	})
	if after := running(t.Context(), t, moved); !maps.Equal(before, after) {
		t.Fatalf("once the old hub is forgotten, what runs has changed from %v to %v", before, after)
	}

	// 5. The new hub manages the Application: a change arrives, and a deletion prunes.
	decide(t, hub, "")
	a := application(moved)
	if err := hub.Client.Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"revisionHistoryLimit":7}}`))); err != nil {
		t.Fatal(err)
	}
	env.Await(t, "a change to arrive", func(ctx context.Context) (bool, string) {
		existing := application(moved)
		err := managed.Client.Get(ctx, client.ObjectKeyFromObject(existing), existing)
		return err == nil && strings.Contains(string(existing.Spec), `"revisionHistoryLimit":7`), fmt.Sprintf("%v %s", err, existing.Spec)
	})
	if err := hub.Client.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	env.Await(t, "all of it to be pruned", func(ctx context.Context) (bool, string) {
		left := running(ctx, t, moved)
		return len(left) == 0, fmt.Sprint(left)
	})
}

// application returns an Application as a user creates it.
func application(name string) *argocd.Application {
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: env.ArgoCDNamespace, Name: name, Finalizers: []string{argocd.ResourcesFinalizer},
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(fmt.Sprintf(`{"project":"guestbook","source":{"repoURL":%q,"targetRevision":"main","path":%q},
			"destination":{"server":%q,"namespace":"guestbook"},"syncPolicy":{"automated":{"prune":true,"selfHeal":true}}}`, env.RepositoryURL, name, argocd.InClusterServer)),
	}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	return a
}

// restore creates the objects of the old hub's backup on a hub, and holds removals there.
func restore(t *testing.T, hub *env.Cluster) {
	t.Helper()
	decide(t, hub, "hold")
	project := &argocd.AppProject{}
	if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: "guestbook"}, project); err != nil {
		t.Fatal(err)
	}
	restored := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: project.Namespace, Name: project.Name}, Spec: project.Spec}
	restored.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.AppProjectKind))
	for _, o := range []client.Object{
		restored, application(moved),
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster}},
	} {
		var err error
		env.Await(t, "the new hub to know the kind of "+o.GetName(), func(ctx context.Context) (bool, string) {
			err = hub.Client.Create(ctx, o) // an API server lists a kind shortly after its CRD is established
			return !meta.IsNoMatchError(err), fmt.Sprint(err)
		})
		if err != nil {
			t.Fatalf("restore %T %s: %v", o, o.GetName(), err)
		}
	}
}

// selectCluster creates the result of registration and placement: the cluster is available, and a
// PlacementDecision selects it.
func selectCluster(t *testing.T, hub *env.Cluster) {
	t.Helper()
	testkit.EditStatus(t, hub.Client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, func(c *clusterv1.ManagedCluster) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "ManagedClusterAvailable"})
	})
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "all"}}
	if err := hub.Client.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	testkit.EditStatus(t, hub.Client, d, func(d *clusterv1beta1.PlacementDecision) {
		d.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: cluster}}
	})
}

// decide annotates the Namespace of a hub's Argo CD with an override, or removes it for "".
func decide(t *testing.T, hub *env.Cluster, word string) {
	t.Helper()
	value := "null"
	if word != "" {
		value = fmt.Sprintf("%q", word+" until "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, contract.DeletionBudgetAnnotation, value)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.ArgoCDNamespace}}
	if err := hub.Client.Patch(t.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// awaitDelivered waits until the agent has applied an Application of a hub, and the hub shows it as healthy.
func awaitDelivered(t *testing.T, hub *env.Cluster, name string) {
	t.Helper()
	env.Await(t, hub.Name+" to say that "+name+" is applied and well", func(ctx context.Context) (bool, string) {
		a := application(name)
		if err := hub.Client.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return false, err.Error()
		}
		var list workv1.ManifestWorkList
		if err := hub.Client.List(ctx, &list, client.InNamespace(cluster)); err != nil {
			return false, err.Error()
		}
		applied := false
		for i := range list.Items {
			if w := &list.Items[i]; w.Annotations[contract.HubNameAnnotation] == name {
				applied = meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied)
			}
		}
		well := strings.Contains(string(a.Status), argocd.HealthHealthy) && strings.Contains(string(a.Status), `"`+argocd.SyncSynced+`"`)
		return applied && well, fmt.Sprintf("applied %t: %s", applied, a.Status)
	})
}

// running returns the UIDs of an Application, its Deployment and its pods on the managed cluster.
func running(ctx context.Context, t *testing.T, name string) map[string]string {
	t.Helper()
	uids := map[string]string{}
	c := fleet.Cluster(cluster).Client
	for kind, o := range map[string]client.Object{
		"Application": &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}},
		"Deployment":  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "guestbook", Name: name}},
	} {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		} else if err == nil {
			uids[kind] = string(o.GetUID())
		}
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace("guestbook"), client.MatchingLabels{"app": name}); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		uids["Pod "+pods.Items[i].Name] = string(pods.Items[i].UID)
	}
	return uids
}
