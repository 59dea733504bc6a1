// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func (r *rig) goes() {
	r.t.Helper()
	r.waitsFor(func(done bool, waits string) error {
		if !done {
			return fmt.Errorf("it waits for %q", waits)
		}
		return nil
	})
}

// waitsWith waits until the description of the departure's wait contains text.
func (r *rig) waitsWith(text string) {
	r.t.Helper()
	r.waitsFor(func(done bool, waits string) error {
		if done || !strings.Contains(waits, text) {
			return fmt.Errorf("done: %t, waits for %q", done, waits)
		}
		return nil
	})
}

// witness records creations and deletions in the cluster's Namespace, in order.
func (r *rig) witness(lists ...client.ObjectList) func() []string {
	r.t.Helper()
	seen := make(chan string, 100)
	for _, list := range lists {
		w, err := hub.client.Watch(context.Background(), list, client.InNamespace(r.name))
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(w.Stop)
		go func() {
			for e := range w.ResultChan() {
				if o, ok := e.Object.(client.Object); ok && e.Type != watch.Modified {
					seen <- fmt.Sprintf("%s %s %s", kind(o), o.GetName(), e.Type)
				}
			}
		}()
	}
	return func() (events []string) {
		for {
			select {
			case e := <-seen:
				events = append(events, e)
			default:
				return events
			}
		}
	}
}

// Each step of a departure waits for the proof of the previous step, also after a restart.
func TestLeave_provesEachStepInOrder(t *testing.T) {
	r := newRig(t)
	pem := certificate(t, r.name, "g1")
	r.connect(pem)
	r.claim(agent.WorkName)
	works := r.witness(&workv1.ManifestWorkList{})
	addOns := r.witness(&addonv1alpha1.ManagedClusterAddOnList{})
	again := func() { r.stop(); r.start() }

	r.leave(false)
	r.waitsWith("ManifestWork " + agent.WorkName)
	again()
	r.waitsWith("ManifestWork " + agent.WorkName)
	if a := r.addOn(); a.UID == "" || !a.DeletionTimestamp.IsZero() {
		t.Fatal("the add-on goes before the agent has stopped")
	}
	if _, found := stored(r, agent.LeavingWorkName, &workv1.ManifestWork{}); found {
		t.Error("the key is looked for before the agent has stopped")
	}
	r.release(agent.WorkName)
	r.waitsWith("Secret " + agent.ClientSecretName)
	testkit.Eventually(t, "the add-on to go", func() error {
		if _, found := stored(r, agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{}); found {
			return errors.New("it is there")
		}
		return nil
	})
	r.claim(agent.LeavingWorkName)
	again()
	r.apply(agent.LeavingWorkName, pem, false) // the key still exists
	r.nudge()
	r.waitsWith("Secret " + agent.ClientSecretName)
	if w, _ := stored(r, agent.LeavingWorkName, &workv1.ManifestWork{}); !w.DeletionTimestamp.IsZero() {
		t.Fatal("a key that is there was taken for gone")
	}
	r.apply(agent.LeavingWorkName, nil, false)
	r.waitsWith("release ManifestWork " + agent.LeavingWorkName)
	r.release(agent.LeavingWorkName)
	r.goes()
	var order []string
	testkit.Eventually(t, "the witness to have seen everything", func() error {
		order = append(order, works()...)
		if n := len(order); n == 0 || order[n-1] != "ManifestWork "+agent.LeavingWorkName+" DELETED" {
			return fmt.Errorf("saw %q", order)
		}
		return nil
	})
	want := []string{
		"ManifestWork " + agent.WorkName + " ADDED", "ManifestWork " + agent.WorkName + " DELETED",
		"ManifestWork " + agent.LeavingWorkName + " ADDED", "ManifestWork " + agent.LeavingWorkName + " DELETED",
	}
	if !slices.Equal(order, want) {
		t.Errorf("the works came and went as %q", order)
	}
	if seen := addOns(); !slices.Equal(seen, []string{"ManagedClusterAddOn " + agent.AddOnName + " ADDED", "ManagedClusterAddOn " + agent.AddOnName + " DELETED"}) {
		t.Errorf("the add-on came and went as %q", seen)
	}
}

// The ManifestWork that checks the Secret does not change the managed cluster: it is read-only and orphans
// the Secret.
func TestLeave_checksTheSecretReadOnly(t *testing.T) {
	r := &rig{t: t, name: "c1"}
	work, err := agent.LeavingWork(agent.AddOn(someWanted(r)))
	if err != nil {
		t.Fatal(err)
	}
	c := work.Spec.ManifestConfigs
	if len(c) != 1 || c[0].UpdateStrategy.Type != workv1.UpdateStrategyTypeReadOnly || len(work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules) != 1 ||
		work.Namespace != "c1" || work.Annotations[agent.ArgoNamespaceAnnotation] != "argocd" || c[0].ResourceIdentifier.Namespace != "argocd" {
		t.Errorf("the work is %+v", work.Spec)
	}
}

func TestAbandon_releasesAnUnreachableCluster(t *testing.T) {
	r := newRig(t)
	r.connect(certificate(t, r.name, "g1"))
	r.claim(agent.WorkName)
	r.available(metav1.ConditionUnknown)
	r.await("the cluster to be away", func(s agent.State) bool {
		return s.Reason == agent.ReasonClusterUnavailable && !s.Connected && s.Deployed
	})
	r.leave(false)
	r.waitsWith("is not available since")
	r.leave(true)
	r.goes()
	if w := r.work(); w.UID == "" || w.DeletionTimestamp.IsZero() {
		t.Error("the work does not wait for the cluster to return")
	}
	if _, found := stored(r, agent.AddOnName, &addonv1alpha1.ManagedClusterAddOn{}); found {
		t.Error("the add-on is still there")
	}
	r.release(agent.WorkName)
}

// A cluster that is abandoned has reported a time that Go's type cannot hold. Its objects are still deleted.
func TestAbandon_releasesAClusterWithAnUnreadableStatus(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	r.available(metav1.ConditionUnknown)
	r.await("the cluster to be away", func(s agent.State) bool { return s.Reason == agent.ReasonClusterUnavailable })
	objects := map[string]string{"ManagedClusterAddOn": addonv1alpha1.GroupVersion.String(), "ManifestWork": workv1.GroupVersion.String()}
	for kind, apiVersion := range objects {
		testkit.WriteUnreadableStatus(t, hub.client, apiVersion, kind, client.ObjectKey{Namespace: r.name, Name: agent.AddOnName})
	}
	r.leave(true)
	r.goes()
	for kind, apiVersion := range objects {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
		if _, found := stored(r, agent.AddOnName, o); found {
			t.Errorf("the %s is still there", kind)
		}
	}
}

// An available cluster must prove that its agent and key are deleted, even if it is to be abandoned.
func TestAbandon_requiresProofOfAnAvailableCluster(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	r.claim(agent.WorkName)
	r.leave(true)
	r.waitsWith("ManifestWork " + agent.WorkName)
	r.release(agent.WorkName)
	testkit.Eventually(t, "the look", func() error {
		if _, found := stored(r, agent.LeavingWorkName, &workv1.ManifestWork{}); !found {
			return errors.New("there is none")
		}
		return nil
	})
	r.apply(agent.LeavingWorkName, nil, false)
	r.goes()
}

// If a cluster is selected again during its departure, it gets its agent back.
func TestLeave_stopsWhenTheClusterIsSelectedAgain(t *testing.T) {
	r := newRig(t)
	pem := certificate(t, r.name, "g1")
	r.connect(pem)
	before := *r.wanted
	r.leave(false)
	r.waitsWith("Secret " + agent.ClientSecretName)
	r.want(func(w *agent.Desired) { *w = before })
	testkit.Eventually(t, "the look to go", func() error {
		if _, found := stored(r, agent.LeavingWorkName, &workv1.ManifestWork{}); found {
			return errors.New("it is there")
		}
		return nil
	})
	r.connect(pem)
}

// A cluster without a ManagedCluster cannot prove anything, so it leaves at once.
func TestLeave_releasesARemovedCluster(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	if err := hub.client.Delete(context.Background(), r.cluster()); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.wanted = nil
	r.mu.Unlock()
	testkit.Edit(t, hub.client, r.addOn(), func(a *addonv1alpha1.ManagedClusterAddOn) { a.Annotations["test.example.com/nudge"] = "x" })
	r.goes()
	for _, name := range []string{agent.WorkName, agent.LeavingWorkName} {
		if _, found := stored(r, name, &workv1.ManifestWork{}); found {
			t.Errorf("ManifestWork %s is still there", name)
		}
	}
}

// A cluster that the hub no longer accepts may be compromised. It can keep its lease and its ManifestWork's
// finalizer, but it cannot block its departure.
func TestAbandon_releasesAClusterThatIsNotAccepted(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	r.claim(agent.WorkName)
	r.leave(true)
	r.waitsWith("ManifestWork " + agent.WorkName)
	testkit.Edit(t, hub.client, r.cluster(), func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	r.goes()
	r.release(agent.WorkName)
}

// Abandoning has no effect while the cluster is available. The message reports when it takes effect.
func TestLeave_reportsWhenAbandoningTakesEffect(t *testing.T) {
	r := newRig(t)
	r.connect(certificate(t, r.name, "g1"))
	r.claim(agent.WorkName)
	r.leave(true)
	r.waitsWith("abandon counts once Open Cluster Management reports the cluster as unavailable")
	r.release(agent.WorkName)
}
