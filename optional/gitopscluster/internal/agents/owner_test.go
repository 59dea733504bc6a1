// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The owner of a ManifestWork without add-on comes from the cluster's Secret, also after a restart. It does
// not come from the ManifestWork, because the managed cluster may write that.
func TestLeft_ignoresAForgedOwnerAfterARestart(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	a := f.spec("a", time.Hour, c)
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
	a.Clusters = nil
	f.Set(a)
	look := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.LeavingWorkName}}
	testkit.Eventually(t, "the look for the key", func() error {
		return hub.client.Get(context.Background(), client.ObjectKeyFromObject(look), look)
	})
	f.absent(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.AddOnName}})
	f.stop()
	testkit.Edit(t, hub.client, look, func(w *workv1.ManifestWork) {
		w.Annotations[agent.OwnerAnnotation], w.Annotations[agent.ArgoNamespaceAnnotation] = f.owner("other").String(), "elsewhere"
	})
	f.start()
	f.Set(a, f.spec("other", 0))
	f.status("a", "what leaves", func(s Status) error {
		if _, leaving := s.Leaving[c]; !leaving {
			return fmt.Errorf("leaving %v", s.Leaving)
		}
		return nil
	})
	testkit.Eventually(t, "the other one to be free", func() error {
		if !f.Left(f.owner("other")) {
			return errors.New("the GitOpsCluster whose name was forged is held")
		}
		return nil
	})
	if f.Left(a.Owner) {
		t.Error("the GitOpsCluster that is leaving is released before the key is gone")
	}
	keyGone(t, f, c)
	testkit.Eventually(t, "the end", func() error {
		if !f.Left(a.Owner) {
			return errors.New("something is left")
		}
		return nil
	})
}

// An agent without its GitOpsCluster stays for the grace period, as on a restored hub. Then it is
// removed. The oldest GitOpsCluster in Argo CD's namespace decides whether it is abandoned.
func TestOrphan_staysForTheGracePeriod(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	f.Set(f.spec("a", time.Hour, c))
	f.delivered(c, holds("192.0.2.1"))
	f.stop()

	heir := f.spec("heir", 0)
	heir.Abandon = true
	f.restart(time.Hour, heir)
	testkit.Eventually(t, "the heir to have it", func() error {
		if !f.Has(heir.Owner, f.namespace, c) || f.Left(heir.Owner) {
			return errors.New("it has not")
		}
		return nil
	})
	stays := func(why string) {
		t.Helper()
		if w := f.delivered(c, holds("192.0.2.1")); !w.DeletionTimestamp.IsZero() || f.writes.Load() > 0 {
			t.Errorf("it leaves %s; %d writes", why, f.writes.Load())
		}
		f.stop()
	}
	stays("within the grace period")
	heir.Held = map[string]bool{c: false}
	f.restart(0, heir)
	f.passed()
	stays("though the heir holds the cluster back")
	heir.Held, heir.Clusters, heir.Agent = nil, []string{c}, nil // a GitOpsCluster without agents keeps no agent
	testkit.EditStatus(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c}}, func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions[0].Status = metav1.ConditionUnknown
	})
	f.restart(0, heir)
	f.absent(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.AddOnName}})
	testkit.Eventually(t, "the end", func() error {
		if !f.Left(heir.Owner) {
			return errors.New("something is left")
		}
		return nil
	})
}

// A restored hub may get the certificates before GitOpsClusters and add-ons. The certificates stay for the
// grace period.
func TestOrphan_keepsTheCertificates(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	f.Set(f.spec("a", time.Hour, c))
	f.delivered(c, holds("192.0.2.1"))
	f.stop()
	f.sweep()
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: certificates.DefaultKeyNamespace, Name: certificates.KeyName(f.namespace)}}
	f.restart(time.Hour)
	f.passed()
	if err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(key), key); err != nil {
		t.Errorf("the key of the CA: %v", err)
	}
	f.stop()
	f.restart(0)
	f.absent(key)
}

// An agent is removed after the grace period even if no GitOpsCluster exists.
func TestOrphan_leavesWithoutHeir(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	f.Set(f.spec("a", time.Hour, c))
	f.delivered(c, holds("192.0.2.1"))
	f.stop()

	f.restart(0)
	keyGone(t, f, c)
	f.absent(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.AddOnName}})
}

// On a restored hub all creation times are new, and the owner of a cluster's agent does not change. But a
// GitOpsCluster in Argo CD's namespace always precedes one in another namespace.
func TestAssign_keepsOwners(t *testing.T) {
	spec := func(namespace, name string, created int64, clusters ...string) Spec {
		return Spec{Owner: types.NamespacedName{Namespace: namespace, Name: name}, ArgoNamespace: "argocd", Created: time.Unix(created, 0), Clusters: clusters, Agent: &Agent{}}
	}
	holding := func(namespace, name string, created int64, clusters ...string) Spec {
		a := spec(namespace, name, created)
		a.Held = map[string]bool{}
		for _, c := range clusters {
			a.Held[c] = true
		}
		return a
	}
	for name, c := range map[string]struct {
		specs []Spec
		has   types.NamespacedName
		want  string
	}{
		"has it":        {[]Spec{spec("argocd", "older", 1, "c"), spec("argocd", "younger", 2, "c")}, types.NamespacedName{Namespace: "argocd", Name: "younger"}, "argocd/younger"},
		"asks no more":  {[]Spec{spec("argocd", "older", 1, "c"), spec("argocd", "younger", 2)}, types.NamespacedName{Namespace: "argocd", Name: "younger"}, "argocd/older"},
		"is not there":  {[]Spec{spec("argocd", "older", 1, "c")}, types.NamespacedName{Namespace: "argocd", Name: "gone"}, "argocd/older"},
		"is of a guest": {[]Spec{spec("argocd", "own", 2, "c"), spec("team", "guest", 1, "c")}, types.NamespacedName{Namespace: "team", Name: "guest"}, "argocd/own"},
		"held":          {[]Spec{holding("argocd", "own", 1, "c")}, types.NamespacedName{Namespace: "argocd", Name: "own"}, "argocd/own"},
		"held, another": {[]Spec{holding("argocd", "older", 1, "c")}, types.NamespacedName{Namespace: "argocd", Name: "gone"}, "/"},
		"held, asked":   {[]Spec{holding("argocd", "older", 1, "c"), spec("argocd", "younger", 2, "c")}, types.NamespacedName{Namespace: "argocd", Name: "gone"}, "argocd/younger"},
		"no add-on":     {[]Spec{holding("argocd", "older", 1, "c")}, types.NamespacedName{}, "argocd/older"},
		"taken over":    {[]Spec{holding("argocd", "older", 1, "c"), spec("argocd", "younger", 2, "c")}, types.NamespacedName{}, "argocd/younger"},
		"no agent":      {[]Spec{{Owner: types.NamespacedName{Namespace: "argocd", Name: "own"}, Agent: &Agent{}, Held: map[string]bool{"c": false}}}, types.NamespacedName{}, "/"},
		"held, both":    {[]Spec{spec("argocd", "older", 1, "c"), holding("argocd", "younger", 2, "c")}, types.NamespacedName{Namespace: "argocd", Name: "younger"}, "argocd/younger"},
		"two guests":    {[]Spec{spec("team", "older", 1, "c"), spec("team", "younger", 2, "c")}, types.NamespacedName{Namespace: "team", Name: "younger"}, "team/younger"},
	} {
		t.Run(name, func(t *testing.T) {
			existing := map[string]presence{"c": {addOn: &addonv1alpha1.ManagedClusterAddOn{}, owner: c.has, namespace: "argocd"}}
			if c.has.Name == "" { // the add-on was deleted, or a restored hub does not have it yet
				existing = nil
			}
			if got := assign(c.specs, existing)["c"].String(); got != c.want {
				t.Errorf("it is %s's, want %s", got, c.want)
			}
		})
	}
}

// A cluster with the name of the hub's Argo CD namespace gets no agent. The principal would take the agent
// for that namespace.
func TestNameOfArgoCD_getsNoAgent(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	f.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	f.Set(f.spec("a", 0, f.namespace, c))
	f.delivered(c, holds("192.0.2.1"))
	f.status("a", "the reason", func(s Status) error {
		if s.Agents[f.namespace].Reason != agent.ReasonNameNotAllowed {
			return fmt.Errorf("agents %+v", s.Agents)
		}
		return nil
	})
	if _, err := f.addOn(f.namespace); !errors.Is(client.IgnoreNotFound(err), nil) || err == nil {
		t.Errorf("it has an add-on, %v", err)
	}
}

// Bad manifests in a dry run are reported for its own clusters, and do not block another GitOpsCluster.
func TestDryRun_reportsBadManifests(t *testing.T) {
	f := newFixture(t)
	c, d := f.cluster(), f.cluster()
	bad := f.spec("a", time.Hour, c)
	bad.DryRun = true
	same := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"argocd"}}`)
	bad.Agent.Manifests = [][]byte{same, same}
	f.Set(bad)
	f.Set(f.spec("b", 0, d))
	f.status("a", "the reason", func(s Status) error {
		if s.Agents[c].Reason != agent.ReasonBadManifests {
			return fmt.Errorf("agents %+v", s.Agents)
		}
		return nil
	})
	f.delivered(d, holds("192.0.2.1"))
	f.status("b", "its agent", func(s Status) error {
		if s.Agents[d].Reason == "" {
			return fmt.Errorf("agents %+v", s.Agents)
		}
		return nil
	})
}
