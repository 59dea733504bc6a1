// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	operatorv1 "open-cluster-management.io/api/operator/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

type csrs = map[string]*certificatesv1.CertificateSigningRequest

// The signer signs a cluster's own request, and records the certificate.
func TestSign_acceptsAnOwnRequest(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	csr := a.ask(c, 1)
	is := a.signed(csr)
	if got := is.Subject.String(); got != "CN="+c+",O=g1" {
		t.Errorf("subject is %s", got)
	}
	authorities, err := certificates.Load(context.Background(), hub.client, a.namespace, "")
	if err != nil || is.CheckSignatureFrom(authorities.Signing.Certificate) != nil {
		t.Errorf("it is not of the CA of %s, %v", a.namespace, err)
	}
	if records := a.recorded(c, is); records[0].Request != string(csr.UID) {
		t.Errorf("records are %+v", records)
	}
	if now := a.read(csr); !approved(now) {
		t.Errorf("conditions are %v", now.Status.Conditions)
	}

	a.generation(c, 2) // a new generation requests a renewal
	second := a.signed(a.ask(c, 2))
	a.generation(c, 3)
	third := a.signed(a.ask(c, 3))
	a.recorded(c, is, second, third)
}

// A cluster can put another cluster's name, label and subject into a request. The signer uses the identity
// of the requester.
func TestSign_deniesARequestOfAnotherCluster(t *testing.T) {
	a := newArgo(t)
	victim, other := a.cluster(), a.cluster()
	a.addOn(victim, 1)
	a.addOn(other, 1)
	for range pki.MaxRequests + 2 {
		a.denied(a.ask(victim, 1, func(r *request) { r.as = other }))
	}
	relayed := a.ask(victim, 1, func(r *request) {
		r.as = other
		r.csr.Annotations = map[string]string{operatorv1.CSRUsernameAnnotation: "system:open-cluster-management:" + victim + ":agent"}
	})
	a.denied(relayed)
	a.denied(a.ask(victim, 1, func(r *request) { delete(r.csr.Labels, agent.CSRClusterLabel) }))
	own := a.ask(other, 1, func(r *request) { r.template.Subject.CommonName = victim })
	a.pending(csrs{"the subject of another cluster": own})
	if got := a.records(victim); len(got) > 0 {
		t.Errorf("there is a record of a certificate: %+v", got)
	}
	a.signed(a.ask(victim, 1)) // the other requests do not block the victim's own one
}

// The signer signs only requests as the registration agent makes them. Other requests stay pending, because
// a denial would block an honest agent for good.
func TestSign_leavesOtherRequestsPending(t *testing.T) {
	a := newArgo(t)
	waiting := csrs{}
	for name, change := range map[string]func(*request){
		"another subject": func(r *request) { r.template.Subject.CommonName = "other" },
		"an organisation more": func(r *request) {
			r.template.Subject.Organization = append(r.template.Subject.Organization, "system:masters")
		},
		"an older generation": func(r *request) { r.template.Subject.Organization = []string{"g1"} },
		"a newer generation":  func(r *request) { r.template.Subject.Organization = []string{"g3"} },
		"a name more":         func(r *request) { r.template.DNSNames = append(r.template.DNSNames, "hub.example.com") },
		"an address":          func(r *request) { r.template.IPAddresses = []net.IP{{10, 0, 0, 1}} },
		"usage of a server":   func(r *request) { r.csr.Spec.Usages = append(r.csr.Spec.Usages, certificatesv1.UsageServerAuth) },
	} {
		c := a.cluster()
		a.addOn(c, 2)
		waiting[name] = a.ask(c, 2, change)
	}
	bare := a.cluster()
	waiting["a cluster without add-on"] = a.ask(bare, 1)
	theirs := a.cluster()
	a.create(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: theirs, Name: agent.AddOnName, Annotations: map[string]string{agent.ArgoNamespaceAnnotation: a.namespace}}})
	a.generation(theirs, 1)
	waiting["an add-on of somebody else"] = a.ask(theirs, 1)
	elsewhere, other := a.cluster(), &argo{t: t, namespace: unique("argocd")}
	a.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}})
	other.ca()
	other.addOn(elsewhere, 1)
	waiting["an Argo CD that is none of ours"] = a.ask(elsewhere, 1)
	a.pending(waiting)

	a.pending(csrs{"another signer": a.ask(bare, 1, func(r *request) { r.csr.Spec.SignerName = "example.com/other" })})
}

// A pending request is signed as soon as its cause is solved.
func TestSign_retriesAPendingRequest(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.accept(c, false)
	a.addOn(c, 1)
	csr := a.ask(c, 1)
	a.pending(csrs{"a cluster that is not accepted": csr})
	a.event(c, "ClusterNotAccepted", "set spec.hubAcceptsClient")
	a.accept(c, true)
	a.signed(csr)

	a.pending(csrs{"no add-on": a.ask(a.cluster(), 1)})

	// The signer may receive the request before the add-on's new generation.
	late := a.cluster()
	a.addOn(late, 1)
	csr = a.ask(late, 2)
	a.pending(csrs{"another generation": csr})
	a.generation(late, 2)
	a.signed(csr)

	leaving := a.cluster()
	a.addOn(leaving, 1)
	testkit.Edit(t, hub.client, a.stored(leaving), func(o *addonv1alpha1.ManagedClusterAddOn) { o.Finalizers = []string{"test.example.com/hold"} })
	if err := hub.client.Delete(context.Background(), a.stored(leaving)); err != nil {
		t.Fatal(err)
	}
	a.pending(csrs{"an add-on that is being deleted": a.ask(leaving, 1)})
	testkit.Edit(t, hub.client, a.stored(leaving), func(o *addonv1alpha1.ManagedClusterAddOn) { o.Finalizers = nil })
}

// accept sets spec.hubAcceptsClient of a cluster.
func (a *argo) accept(cluster string, accepted bool) {
	a.t.Helper()
	testkit.Edit(a.t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, func(m *clusterv1.ManagedCluster) { m.Spec.HubAcceptsClient = accepted })
}

func (a *argo) event(cluster, reason, text string) {
	a.t.Helper()
	testkit.Eventually(a.t, "Event "+reason+" in "+cluster, func() error {
		var list eventsv1.EventList
		if err := hub.client.List(context.Background(), &list, client.InNamespace(cluster)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Name == agent.AddOnName && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("none of %d", len(list.Items))
	})
}

// Without a CA key the signer signs nothing. It signs the request when the key exists.
func TestSign_waitsForTheCA(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	for namespace, name := range map[string]string{a.namespace: "argocd-agent-ca", certificates.DefaultKeyNamespace: certificates.KeyName(a.namespace)} {
		if err := hub.client.Delete(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	csr := a.ask(c, 1)
	a.event(c, reasonNoSign, "CertificatesReady of the GitOpsCluster has the remedy")
	if now := a.read(csr); len(now.Status.Conditions) > 0 {
		t.Errorf("conditions are %v", now.Status.Conditions)
	}
	a.ca()
	testkit.Edit(t, hub.client, a.stored(c), func(o *addonv1alpha1.ManagedClusterAddOn) { o.Labels = map[string]string{"touched": "true"} })
	a.signed(csr)
}
