// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func (f *fixture) secret(name string) *corev1.Secret {
	f.t.Helper()
	s := &corev1.Secret{}
	if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: f.namespace, Name: name}, s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

// A leaving cluster that does not finish the deletion of its ManifestWork does not block a change of the
// CA. So an administrator can unblock a change by removing the cluster from the Placement.
func TestRotation_doesNotWaitForALeavingCluster(t *testing.T) {
	f := newFixture(t)
	stays, leaves := f.cluster(), f.cluster()
	a := f.spec("a", 0, stays, leaves)
	f.Set(a)
	f.delivered(stays, holds("192.0.2.1"))
	w := f.delivered(leaves, holds("192.0.2.1"))
	testkit.Edit(t, hub.client, w, func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
	t.Cleanup(func() { testkit.Edit(t, hub.client, w, func(w *workv1.ManifestWork) { w.Finalizers = nil }) })
	a.Clusters = []string{stays}
	f.Set(a)
	testkit.Eventually(t, "the deletion", func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(w), w); err != nil || w.DeletionTimestamp.IsZero() {
			return errors.Join(errors.New("not deleted"), err)
		}
		return nil
	})
	a.RotateCA = "now"
	f.Set(a)
	testkit.Eventually(t, "the first step of the change", func() error {
		key := &corev1.Secret{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: certificates.DefaultKeyNamespace, Name: certificates.KeyName(f.namespace)}, key); err != nil || len(key.Data["next.crt"]) == 0 {
			status, _ := f.Status(a.Owner)
			return fmt.Errorf("there is no next CA; problems %v", status.CertificateProblems)
		}
		return nil
	})
}

// If the load balancer loses its address for a while, the principal's certificate keeps the address.
func TestServerCertificate_keepsAnAddressThatIsMissingForAWhile(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	a := f.spec("a", 0, c)
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
	before := f.secret("argocd-agent-principal-tls").ResourceVersion
	f.balanced()
	f.status("a", "the address to be gone", func(s Status) error {
		if s.Principal.Address != "" {
			return fmt.Errorf("address %s", s.Principal.Address)
		}
		return nil
	})
	f.balanced("192.0.2.1", "192.0.2.7") // a missing name causes a new certificate
	testkit.Eventually(t, "the new address", func() error {
		secret := f.secret("argocd-agent-principal-tls")
		chain, err := pki.ParseCertificates(secret.Data[corev1.TLSCertKey])
		if err != nil {
			return err
		}
		if missing := pki.MissingNames(chain[0], []string{"192.0.2.1", "192.0.2.7"}); len(missing) > 0 {
			if secret.ResourceVersion != before {
				t.Fatalf("made anew without %v", missing)
			}
			return fmt.Errorf("missing %v", missing)
		}
		return nil
	})
}

// The owner of a ManifestWork without add-on does not come from its annotations, because the managed
// cluster may write them. A forged owner would block the deletion of another GitOpsCluster.
func TestLeft_ignoresAnOwnerThatAClusterForged(t *testing.T) {
	f := newFixture(t)
	c := f.cluster()
	a := f.spec("a", time.Hour, c)
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
	f.Set(f.spec("other", 0))
	a.Clusters = nil
	f.Set(a)
	leaving := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.LeavingWorkName}}
	testkit.Eventually(t, "the look for the key", func() error {
		return hub.client.Get(context.Background(), client.ObjectKeyFromObject(leaving), leaving)
	})
	f.absent(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.AddOnName}})
	testkit.Edit(t, hub.client, leaving, func(w *workv1.ManifestWork) { w.Annotations[agent.OwnerAnnotation] = f.owner("other").String() })
	testkit.Eventually(t, "the forged owner in the cache", func() error {
		_, leaving, err := f.fleet.Works(context.Background())
		if w := leaving[c]; w == nil || w.Annotations[agent.OwnerAnnotation] != f.owner("other").String() {
			return errors.Join(errors.New("not there"), err)
		}
		return nil
	})
	f.passed()
	if !f.Left(f.owner("other")) {
		t.Error("the GitOpsCluster whose name was forged is held")
	}
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

// A GitOpsCluster in Argo CD's namespace precedes an older one in another namespace.
func TestOlder_prefersTheNamespaceOfArgoCD(t *testing.T) {
	in, out := Spec{RotateCA: "in", Agent: &Agent{}, ArgoNamespace: "argocd"}, Spec{RotateCA: "out", Agent: &Agent{}, ArgoNamespace: "argocd", Created: time.Unix(1, 0)}
	in.Owner.Namespace, out.Owner.Namespace, in.Created = "argocd", "team", time.Unix(2, 0)
	specs := []Spec{out, in}
	slices.SortFunc(specs, older)
	if specs[0].RotateCA != "in" {
		t.Error("a cluster's agent goes to a GitOpsCluster of another namespace")
	}
}

// The principal's certificate is for all agents. An address in a GitOpsCluster of another namespace does
// not get into it.
func TestServerCertificate_hasNoNameOfAnotherNamespace(t *testing.T) {
	f := newFixture(t)
	c, d := f.cluster(), f.cluster()
	a := f.spec("a", time.Hour, c)
	a.Agent.Address = "principal.example.com"
	f.Set(a)
	other := f.spec("other", 0, d)
	other.Owner.Namespace, other.Agent.Address = "team", "other.example.com"
	f.Set(other)
	testkit.Eventually(t, "the problem", func() error {
		status, _ := f.Status(other.Owner)
		if !slices.ContainsFunc(status.PrincipalProblems, func(p principal.Problem) bool { return p.Reason == principal.ReasonAddress }) {
			return fmt.Errorf("problems are %+v", status.PrincipalProblems)
		}
		return nil
	})
	chain, err := pki.ParseCertificates(f.secret("argocd-agent-principal-tls").Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	if names := pki.NamesOf(chain[0]); slices.Contains(names, "other.example.com") || !slices.Contains(names, "principal.example.com") {
		t.Errorf("the certificate names %v", names)
	}
	status, _ := f.Status(a.Owner)
	if len(status.PrincipalProblems) > 0 {
		t.Errorf("the other one has problems %+v", status.PrincipalProblems)
	}
}
