// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// An agent gets everything that it needs, and follows a change of the principal's address. Its ManifestWork
// is deleted first, then its key. The certificates are deleted with the last GitOpsCluster.
func TestReconcile_installsAndRemovesAnAgent(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	if _, _, err := f.Shape(f.namespace, c); !errors.Is(err, ErrNotKnown) {
		t.Errorf("before any was reconciled: %v", err)
	}
	a := f.spec("a", 0, c)
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
	server, config, err := f.Shape(f.namespace, c)
	if err != nil || server != "https://argocd-agent-resource-proxy."+f.namespace+".svc:9090?agentName="+c || !strings.Contains(string(config), "keyData") {
		t.Errorf("Secret: %s, %d bytes, %v", server, len(config), err)
	}
	if server, _, err := f.Shape(f.namespace, "other"); server != "" || err != nil {
		t.Errorf("a cluster without agent: %s, %v", server, err)
	}

	f.signed(c)

	f.balanced("192.0.2.2")
	f.delivered(c, holds("192.0.2.2"))
	f.balanced()
	f.status("a", "NotExposed", func(a Status) error {
		if len(a.PrincipalProblems) != 1 || a.PrincipalProblems[0].Reason != principal.ReasonNotExposed {
			return fmt.Errorf("problems %v", a.PrincipalProblems)
		}
		return nil
	})
	f.delivered(c, holds("192.0.2.2")) // the delivered agent does not change
	f.balanced("192.0.2.2")

	a.Clusters = nil
	f.Set(a)
	f.absent(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.WorkName}})
	f.status("a", "Leaving", func(a Status) error {
		if a.Leaving[c] == "" {
			return fmt.Errorf("leaving %v", a.Leaving)
		}
		return nil
	})
	if !f.Has(a.Owner, f.namespace, c) {
		t.Error("the cluster may be let go of before its key is gone")
	}
	keyGone(t, f, c)
	testkit.Eventually(t, "the end of the agent", func() error {
		if server, _, err := f.Shape(f.namespace, c); f.Has(a.Owner, f.namespace, c) || server != "" || err != nil {
			return fmt.Errorf("it has one: %t; Secret %s, %w", f.Has(a.Owner, f.namespace, c), server, err)
		}
		return nil
	})
	f.Delete(a.Owner)
	f.absent(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "argocd-agent-ca"}})
}

// The older of two GitOpsClusters has the agent. When the older one is deleted, the other one takes over
// the same ManifestWork.
func TestAssign_prefersTheOlderGitOpsCluster(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	f.Set(f.spec("a", time.Hour, c))
	f.Set(f.spec("b", 0, c))
	uid := f.delivered(c, func(*workv1.ManifestWork) error { return nil }).UID
	f.status("b", "the conflict", func(a Status) error {
		if a.Conflicts[c] != f.owner("a") {
			return fmt.Errorf("conflicts %v", a.Conflicts)
		}
		return nil
	})
	f.Delete(f.owner("a"))
	f.delivered(c, func(w *workv1.ManifestWork) error {
		addOn, err := f.addOn(c)
		if err != nil || annotated(addOn) != f.owner("b") || w.UID != uid {
			return fmt.Errorf("the add-on is of %s, %w", addOn.Annotations[agent.OwnerAnnotation], err)
		}
		return nil
	})
}

// After a restart, no agent is removed before the GitOpsClusters are known. If the hub is up to date,
// nothing is written.
func TestRestart_writesNothing(t *testing.T) {
	f := newFixture(t)
	kept, left := f.cluster(), f.cluster()
	f.Set(f.spec("a", time.Hour, kept))
	f.Set(f.spec("b", 0, left))
	f.delivered(kept, holds("192.0.2.1"))
	f.delivered(left, holds("192.0.2.1"))
	f.status("b", "the state of both", func(b Status) error {
		a, _ := f.Status(f.owner("a"))
		if len(a.Agents) != 1 || len(b.Agents) != 1 {
			return fmt.Errorf("a %v, b %v", a.Agents, b.Agents)
		}
		return nil
	})
	testkit.Eventually(t, "a plan without a write", func() error {
		before := f.writes.Load()
		f.passed()
		if n := f.writes.Load() - before; n > 0 {
			return fmt.Errorf("%d requests changed something", n)
		}
		return nil
	})
	f.stop()

	f.start()
	if _, _, err := f.Shape(f.namespace, left); !errors.Is(err, ErrNotKnown) {
		t.Errorf("before the GitOpsClusters are known: %v", err)
	}
	f.Set(f.spec("a", time.Hour, kept), f.spec("b", 0, left))
	f.status("a", "what was there", func(a Status) error {
		if len(a.Agents) != 1 || a.Agents[kept].Reason == "" {
			return fmt.Errorf("agents %+v", a.Agents)
		}
		return nil
	})
	f.passed()
	if n := f.writes.Load(); n > 0 {
		t.Errorf("%d requests changed something", n)
	}
	f.delivered(left, holds("192.0.2.1"))
	empty := f.spec("b", 0)
	f.Set(empty)
	f.absent(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: left, Name: agent.WorkName}})
	f.delivered(kept, holds("192.0.2.1"))
}

// A dry run lists the writes of a real run, and writes nothing.
func TestDryRun_listsTheWritesOfARealRun(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	a := f.spec("a", 0, c)
	a.DryRun = true
	f.Set(a)
	var plan []agent.Write
	f.status("a", "the plan", func(a Status) error {
		if plan = a.Plan; len(plan) != 8 {
			return fmt.Errorf("plan %v", plan)
		}
		return nil
	})
	if n := f.writes.Load(); n > 0 {
		t.Errorf("%d requests changed something", n)
	}
	a.DryRun = false
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
}

// A cluster that is released without proof is reported, with the number of certificates that it may still
// have. A cluster that proved the deletion of its key is not reported.
func TestAbandoned_isReported(t *testing.T) {
	f := newFixture(t)
	proven, lost := f.cluster(), f.cluster()
	a := f.spec("a", 0, proven, lost)
	f.Set(a)
	for _, c := range []string{proven, lost} {
		f.delivered(c, holds("192.0.2.1"))
		f.signed(c)
	}
	testkit.EditStatus(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: lost}}, func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions[0].Status = metav1.ConditionUnknown
	})
	a.Clusters, a.Abandon = nil, true
	f.Set(a)
	keyGone(t, f, proven)
	testkit.Eventually(t, "the end of both", func() error {
		if f.Has(a.Owner, f.namespace, proven) || f.Has(a.Owner, f.namespace, lost) {
			return errors.New("there is something left")
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if want := []string{fmt.Sprint(a.Owner, " ", lost, " 1")}; !slices.Equal(f.abandoned, want) {
		t.Errorf("told of %q, want %q", f.abandoned, want)
	}
}

// When the last GitOpsCluster drops its agents, a dry run lists the deletion of the certificates and
// deletes nothing.
func TestDryRun_listsTheDeletionOfCertificates(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	a := f.spec("a", 0)
	f.Set(a)
	ca := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "argocd-agent-ca"}}
	testkit.Eventually(t, "the CA", func() error { return hub.client.Get(ctx, client.ObjectKeyFromObject(ca), ca) })
	a.Agent, a.DryRun = nil, true
	f.Set(a)
	f.status("a", "the plan", func(a Status) error {
		if len(a.Plan) != 5 || a.Plan[3].Verb != "delete" || a.Plan[3].Name != ca.Name || a.Plan[4].Name != certificates.KeyName(f.namespace) {
			return fmt.Errorf("plan %v", a.Plan)
		}
		return nil
	})
	if err := hub.client.Get(ctx, client.ObjectKeyFromObject(ca), ca); err != nil {
		t.Error(err)
	}
	a.DryRun = false
	f.Set(a)
	f.absent(ca)
}
