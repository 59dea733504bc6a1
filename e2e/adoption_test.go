// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The managed cluster already has an Application of the same name. With management policy observe the hub
// reports the changes that a delivery would make, and changes nothing, also when the hub Application is
// deleted. With no-takeover the hub reports another owner. Without a policy the hub takes the Application
// over. The Deployment and its pods stay the same throughout.
func TestAdoption_followsThePolicyAndKeepsThePods(t *testing.T) {
	alongside(t)
	onEachCluster(t, adoption)
}

func adoption(t *testing.T, cluster string) {
	t.Helper()
	name := "local-" + cluster
	hubSpec, before := madeThere(t, cluster, name)
	same := func(when string) {
		t.Helper()
		if after := running(t, cluster, name); !maps.Equal(before, after) {
			t.Fatalf("%s what runs has changed from %v to %v", when, before, after)
		}
	}

	a := createWith(t, name, cluster, hubSpec, map[string]string{contract.ManagementPolicyAnnotation: "observe"})
	awaitWell(t, "hub", name)
	awaitCondition(t, name, `delivering would change project "local" → "guestbook"`)
	same("observed,")
	if existing := managed(t, cluster, name); len(existing.OwnerReferences) > 0 || !strings.Contains(string(existing.Spec), `"project":"local"`) {
		t.Fatalf("what was to be observed was changed: owners %v, %s", existing.OwnerReferences, existing.Spec)
	}
	if err := remove(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	awaitNoWork(t, cluster, name)
	same("not observed any more,")

	a = createWith(t, name, cluster, hubSpec, map[string]string{contract.ManagementPolicyAnnotation: "no-takeover"})
	awaitCondition(t, name, "has another owner")
	same("not taken over,")
	if existing := managed(t, cluster, name); !strings.Contains(string(existing.Spec), `"project":"local"`) {
		t.Fatalf("what was not to be taken over was: %s", existing.Spec)
	}

	patch(t, a, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, contract.ManagementPolicyAnnotation))
	await(t, "it to be taken over", func() (bool, string) {
		existing := managed(t, cluster, name)
		return strings.Contains(string(existing.Spec), `"project":"guestbook"`) && len(existing.OwnerReferences) == 1, string(existing.Spec)
	})
	awaitWell(t, "hub", name)
	awaitNoCondition(t, name)
	same("taken over,")
}

// madeThere creates an Application on a managed cluster, in a separate project. It returns the spec for the
// hub Application, and the UIDs of the workload.
func madeThere(t *testing.T, cluster, name string) (json.RawMessage, map[string]string) {
	t.Helper()
	c := fleet.Cluster(cluster).Client
	hubSpec := spec(t, name, true)
	project := &argocd.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "local"},
		Spec:       []byte(`{"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}]}`),
	}
	local := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name},
		Spec:       bytes.Replace(hubSpec, []byte(`"project":"guestbook"`), []byte(`"project":"local"`), 1),
	}
	project.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.AppProjectKind))
	local.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	content := map[string]string{name + "/config.yaml": strings.ReplaceAll(survivor, "NAME", name)}
	if _, err := fleet.Git.Commit(t.Context(), "Run locally", content); err != nil {
		t.Fatal(err)
	}
	afterwards(t, "delete what was made on "+cluster, func(ctx context.Context) error {
		return errors.Join(client.IgnoreNotFound(c.Delete(ctx, local)), client.IgnoreNotFound(c.Delete(ctx, project)))
	})
	for _, o := range []client.Object{project, local} {
		if err := c.Create(t.Context(), o, client.FieldOwner("somebody-there")); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the Deployment and its pods to be there", func() (bool, string) {
		found := running(t, cluster, name)
		return len(found) == 4, fmt.Sprint(found)
	})
	awaitWell(t, cluster, name)
	return hubSpec, running(t, cluster, name)
}

// An Application takes over the Deployment that a Subscription applied from the same manifests. The
// Deployment and its pods stay, and the Subscription's annotation stays, too.
func TestAdoption_takesOverObjectsOfAnotherManager(t *testing.T) {
	alongside(t)
	onEachCluster(t, func(t *testing.T, cluster string) {
		const subscription = "apps.open-cluster-management.io/hosting-subscription"
		name, c := "moved-"+cluster, fleet.Cluster(cluster).Client
		hubSpec := spec(t, name, true)
		manifest := strings.ReplaceAll(survivor, "NAME", name)
		if _, err := fleet.Git.Commit(t.Context(), "What the Subscription deploys", map[string]string{name + "/config.yaml": manifest}); err != nil {
			t.Fatal(err)
		}
		deployment := &appsv1.Deployment{}
		if err := yaml.Unmarshal([]byte(manifest), deployment); err != nil {
			t.Fatal(err)
		}
		deployment.Namespace, deployment.Annotations = "guestbook", map[string]string{subscription: "team/" + name}
		if err := c.Create(t.Context(), deployment, client.FieldOwner("application-manager")); err != nil {
			t.Fatal(err)
		}
		afterwards(t, "delete the Deployment on "+cluster, func(ctx context.Context) error {
			return client.IgnoreNotFound(c.Delete(ctx, deployment))
		})
		await(t, "the pods to be there", func() (bool, string) {
			found := running(t, cluster, name)
			return len(found) == 3, fmt.Sprint(found)
		})
		before := running(t, cluster, name)

		createWith(t, name, cluster, hubSpec, nil)
		awaitWell(t, "hub", name)
		after := running(t, cluster, name)
		if after["Application"] == "" {
			t.Fatalf("it was not delivered: %v", after)
		}
		delete(after, "Application")
		if !maps.Equal(before, after) {
			t.Errorf("what runs has changed from %v to %v", before, after)
		}
		adopted := &appsv1.Deployment{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(deployment), adopted); err != nil {
			t.Fatal(err)
		}
		tracked := adopted.Annotations[argocd.TrackingIDAnnotation] + adopted.Labels[argocd.InstanceLabel]
		// Revision 1: no rollout happened. The generation would count changes of annotations, too.
		if !strings.HasPrefix(tracked, name) || adopted.Annotations[subscription] != "team/"+name || adopted.Annotations["deployment.kubernetes.io/revision"] != "1" {
			t.Errorf("tracked by %q, annotations %v", tracked, adopted.Annotations)
		}
	})
}

// awaitCondition waits until the message of a condition of a hub Application contains text.
func awaitCondition(t *testing.T, name, text string) {
	t.Helper()
	await(t, name+" to say "+text, func() (bool, string) {
		a, _ := view.Application("hub", name)
		for _, c := range a.Conditions {
			if strings.Contains(c.Message, text) {
				return true, ""
			}
		}
		return false, fmt.Sprint(a.Conditions)
	})
}

func awaitNoCondition(t *testing.T, name string) {
	t.Helper()
	await(t, name+" to have no condition", func() (bool, string) {
		a, _ := view.Application("hub", name)
		return len(a.Conditions) == 0, fmt.Sprint(a.Conditions)
	})
}

// awaitNoWork waits until the hub has no ManifestWork of an Application on a cluster.
func awaitNoWork(t *testing.T, cluster, name string) {
	t.Helper()
	await(t, "the ManifestWork of "+name+" to be gone", func() (bool, string) {
		var list workv1.ManifestWorkList
		if err := fleet.Hub.Client.List(t.Context(), &list, client.InNamespace(cluster)); err != nil {
			return false, err.Error()
		}
		for i := range list.Items {
			if list.Items[i].Annotations[contract.HubNameAnnotation] == name {
				return false, fmt.Sprintf("%s: %v %v", list.Items[i].Name, list.Items[i].DeletionTimestamp, list.Items[i].Status.Conditions)
			}
		}
		return true, ""
	})
}
