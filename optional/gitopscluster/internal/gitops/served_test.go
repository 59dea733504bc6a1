// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// requests creates the certificate request of a cluster's registration agent.
func (f *fleet) requests(cluster string) *certificatesv1.CertificateSigningRequest {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: cluster, Organization: []string{agent.Group(1)}}, DNSNames: []string{agent.CSRServerName},
	}, key)
	if err != nil {
		f.t.Fatal(err)
	}
	as := rest.CopyConfig(hub.config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:open-cluster-management:" + cluster + ":x", Groups: []string{"system:open-cluster-management:" + cluster, "system:masters"}}
	c, err := client.New(as, client.Options{Scheme: hub.scheme})
	if err != nil {
		f.t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "addon-" + cluster, Labels: map[string]string{agent.CSRClusterLabel: cluster}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: agent.SignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	if err := c.Create(context.Background(), csr); err != nil {
		f.t.Fatal(err)
	}
	return csr
}

// carry waits until the agent's ManifestWork of each cluster contains a text.
func (f *fleet) carry(text string, clusters ...string) {
	f.t.Helper()
	for _, cluster := range clusters {
		testkit.Eventually(f.t, fmt.Sprintf("%q in the work of %s", text, cluster), func() error {
			w := &workv1.ManifestWork{}
			if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, w); err != nil {
				return err
			}
			for _, m := range w.Spec.Workload.Manifests {
				if strings.Contains(string(m.Raw), text) {
					return nil
				}
			}
			return errors.New("it is not in there")
		})
	}
}

// gitopscluster signs a cluster's request with the permissions of the shipped roles. Every agent follows
// the principal's address and version, without a change of a spec.
func TestAgents_followThePrincipal(t *testing.T) {
	f, ctx := newFleet(t), context.Background()
	f.withPrincipal()
	clusters := f.clusters(2)
	for _, cluster := range clusters {
		f.available(cluster)
	}
	f.placement("all", clusters...)
	f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.carry("192.0.2.1", clusters...)
	csr := f.requests(clusters[0])
	testkit.Eventually(t, "the certificate", func() error {
		if err := hub.client.Get(ctx, client.ObjectKeyFromObject(csr), csr); err != nil {
			return err
		}
		if len(csr.Status.Certificate) == 0 {
			return fmt.Errorf("conditions %v", csr.Status.Conditions)
		}
		return nil
	})

	principal := metav1.ObjectMeta{Namespace: f.argocd, Name: "argocd-agent-principal"}
	testkit.EditStatus(t, hub.client, &corev1.Service{ObjectMeta: principal}, func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.9"}}
	})
	f.carry("192.0.2.9", clusters...)
	testkit.Edit(t, hub.client, &appsv1.Deployment{ObjectMeta: principal}, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "quay.io/argoprojlabs/argocd-agent:v0.9.1"
	})
	f.carry("argocd-agent:v0.9.1", clusters...)
	testkit.Eventually(t, "the status", func() error {
		at := f.says(o, v1beta1.ConditionPrincipalFound, metav1.ConditionTrue, intent.ReasonAsExpected)
		if p := at.Status.Principal; p.Address != "192.0.2.9" || p.Version != "0.9.1" || at.Generation != o.Generation {
			return fmt.Errorf("principal %+v, generation %d", p, at.Generation)
		}
		return nil
	})
}

// If two GitOpsClusters select a cluster, the older one has the agent. After its deletion the younger one
// takes over, with the same Secret and ManifestWork.
func TestAgents_moveToTheYoungerGitOpsCluster(t *testing.T) {
	f, ctx := newFleet(t), context.Background()
	f.withPrincipal()
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	f.start()
	older := f.gitops("a-older", "all", withAgent)
	f.carry("192.0.2.1", cluster)
	younger := f.gitops("b-younger", "all", withAgent)
	f.says(younger, v1beta1.ConditionAgentsDeployed, metav1.ConditionFalse, reasonClustersConflict)
	testkit.Eventually(t, "the Secret of both", func() error {
		if s := f.secrets(f.argocd)[cluster]; s == nil || !strings.Contains(string(s.Data["server"]), "agentName=") {
			return errors.New("it is not in the agent's shape")
		}
		return nil
	})
	secret, work := f.secrets(f.argocd)[cluster], &workv1.ManifestWork{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, work); err != nil {
		t.Fatal(err)
	}
	if err := hub.client.Delete(ctx, older); err != nil {
		t.Fatal(err)
	}
	f.gone(older)
	f.says(younger, v1beta1.ConditionAgentsDeployed, metav1.ConditionFalse, agent.ReasonWorkNotApplied)
	now := &workv1.ManifestWork{}
	if err := hub.client.Get(ctx, client.ObjectKeyFromObject(work), now); err != nil || now.UID != work.UID || now.Annotations[agent.OwnerAnnotation] != nameOf(younger) {
		t.Errorf("the work is %s (was %s) of %s, %v", now.UID, work.UID, now.Annotations[agent.OwnerAnnotation], err)
	}
	if s := f.secrets(f.argocd)[cluster]; s == nil || s.UID != secret.UID || !strings.Contains(string(s.Data["server"]), "agentName=") {
		t.Errorf("the Secret is another one: %v", s)
	}
}

// Without agents, gitopscluster neither reads, watches nor writes objects of agents. A condition reports
// that the agent field has no effect.
func TestRegistration_installsNoAgents(t *testing.T) {
	f := newFleet(t)
	f.withPrincipal()
	f.options.Agents = nil
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	record, stop := f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.ready(o, 1)
	f.says(o, v1beta1.ConditionSpecAccepted, metav1.ConditionTrue, intent.ReasonSomeFieldsUnused)
	stop()
	for asked := range record.asked {
		for _, resource := range []string{"addons", "manifestworks", "certificatesigningrequests", "services", "deployments", "configmaps", "routes"} {
			if strings.Contains(asked, resource) {
				t.Errorf("it asked to %s", asked)
			}
		}
	}
	if record.asked["watch secrets"] == 0 {
		t.Errorf("nothing was recorded: %v", record.asked)
	}
}

// With autonomous agents the condition reports that the hub is read-only. An annotation sets the
// certificate's generation.
func TestAgents_reportAReadOnlyHubIfAutonomous(t *testing.T) {
	f := newFleet(t)
	f.team = f.argocd
	f.withPrincipal()
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	f.start()
	o := f.gitops("fleet", "all", withAgent, func(o *v1beta1.GitOpsCluster) {
		o.Spec.GitOpsAddon.ArgoCDAgent.Mode = agent.ModeAutonomous
		o.Annotations = map[string]string{intent.CertificateGenerationAnnotation: "3"}
	})
	f.carry(`"agent.mode":"autonomous"`, cluster)
	testkit.Eventually(t, "a certificate of the generation that is asked for", func() error {
		a := &addonv1alpha1.ManagedClusterAddOn{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: agent.AddOnName}, a); err != nil {
			return err
		}
		if n := sign.WantedGeneration(a); n != 3 {
			return fmt.Errorf("it asks for %d", n)
		}
		return nil
	})
	at := f.says(o, v1beta1.ConditionPrincipalFound, metav1.ConditionTrue, intent.ReasonAsExpected)
	for _, c := range at.Status.Conditions {
		if c.Type == v1beta1.ConditionPrincipalFound && !strings.Contains(c.Message, "read-only") {
			t.Errorf("the message is %s", c.Message)
		}
	}
}

// A registered cluster gets an agent and loses it again, and keeps the same Secret. A dry run lists the
// change of the Secret.
func TestSecret_staysWhileTheShapeChanges(t *testing.T) {
	f := newFleet(t)
	f.withPrincipal()
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 1)
	uid := f.secrets(f.argocd)[cluster].UID
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) {
		withAgent(o)
		o.Annotations = map[string]string{intent.DryRunAnnotation: "true"}
	})
	f.agentPlan(o, intent.ReasonDryRun, "patch secrets "+f.argocd+"/"+cluster+"-cluster-secret", "create manifestworks "+cluster+"/"+agent.WorkName)
	if s := f.secrets(f.argocd)[cluster]; strings.Contains(string(s.Data["server"]), "agentName=") {
		t.Error("the dry run changed it")
	}
	shaped := func(what string, agents bool) {
		t.Helper()
		testkit.Eventually(t, what, func() error {
			s := f.secrets(f.argocd)[cluster]
			if s == nil || s.UID != uid {
				t.Fatalf("the Secret was gone: %v", s)
			}
			if strings.Contains(string(s.Data["server"]), "agentName=") != agents {
				return fmt.Errorf("server %s", s.Data["server"])
			}
			return nil
		})
	}
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Annotations = nil })
	f.carry("192.0.2.1", cluster)
	shaped("the agent's shape", true)
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Spec.GitOpsAddon = nil })
	keyGone(t, cluster)
	shaped("the plain shape", false)
	f.ready(o, 1)
}
