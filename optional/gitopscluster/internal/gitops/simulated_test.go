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
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// connect acts as OCM's registration agent, OCM's work agent and a connected argocd-agent on many clusters
// in parallel.
func (f *fleet) connect(clusters []string) {
	f.t.Helper()
	var wait sync.WaitGroup
	next := make(chan string)
	for range 32 {
		wait.Go(func() {
			for cluster := range next {
				f.connectOne(cluster)
			}
		})
	}
	for _, cluster := range clusters {
		next <- cluster
	}
	close(next)
	wait.Wait()
}

func (f *fleet) connectOne(cluster string) {
	csr, work := f.request(cluster), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.WorkName}}
	fingerprint := ""
	testkit.Eventually(f.t, "the certificate of "+cluster, func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(csr), csr); err != nil {
			return err
		}
		chain, err := pki.ParseCertificates(csr.Status.Certificate)
		if err == nil {
			fingerprint = pki.Fingerprint(chain[0])
		}
		return err
	})
	report := func(w *workv1.ManifestWork) { f.report(w, csr.Status.Certificate) }
	testkit.EditStatus(f.t, hub.client, work, report)
	testkit.Eventually(f.t, "the certificate in the work of "+cluster, func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(work), work); err != nil {
			return err
		}
		if named := work.Annotations[agent.ClientCertificateAnnotation]; named != fingerprint {
			return fmt.Errorf("it names %q", named)
		}
		return nil
	})
	testkit.EditStatus(f.t, hub.client, work, report)
}

// request creates the certificate request that a cluster makes for its add-on.
func (f *fleet) request(cluster string) *certificatesv1.CertificateSigningRequest {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Error(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: cluster, Organization: []string{agent.Group(1)}}, DNSNames: []string{agent.CSRServerName},
	}, key)
	if err != nil {
		f.t.Error(err)
	}
	as := rest.CopyConfig(hub.config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:open-cluster-management:" + cluster + ":x", Groups: []string{"system:open-cluster-management:" + cluster, "system:masters"}}
	c, err := client.New(as, client.Options{Scheme: hub.scheme, Mapper: hub.client.RESTMapper()})
	if err != nil {
		f.t.Error(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: unique("addon-" + cluster), Labels: map[string]string{agent.CSRClusterLabel: cluster, agent.CSRAddOnLabel: agent.AddOnName}},
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: agent.SignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})},
	}
	if err := c.Create(context.Background(), csr); err != nil {
		f.t.Error(err)
	}
	return csr
}

// report sets the status of an applied ManifestWork, on a cluster with this certificate, as the work agent
// does.
func (f *fleet) report(w *workv1.ManifestWork, certificate []byte) {
	text := func(name, value string) workv1.FeedbackValue {
		return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
	}
	number := func(name string, value int64) workv1.FeedbackValue {
		return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &value}}
	}
	is := func(condition string) metav1.Condition {
		return metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "x", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Now()}
	}
	var d appsv1.Deployment
	for _, m := range w.Spec.Workload.Manifests {
		if json.Unmarshal(m.Raw, &d) == nil && d.Kind == "Deployment" {
			break
		}
	}
	pod := d.Spec.Template
	if len(pod.Spec.Containers) != 1 {
		f.t.Errorf("the work of %s has no Deployment", w.Namespace)
		return
	}
	w.Status.Conditions = []metav1.Condition{is(workv1.WorkApplied)}
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta: workv1.ManifestResourceMeta{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: d.Namespace, Name: d.Name},
		Conditions:   []metav1.Condition{is(workv1.ManifestApplied), is(workv1.ManifestAvailable)},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{
			number("availableReplicas", 1), number("updatedReplicas", 1), number("replicas", 1), number("observedGeneration", w.Generation), number("generation", w.Generation),
			text("image", pod.Spec.Containers[0].Image), text("certificates", pod.Annotations[agent.CertificatesAnnotation]), text("caBundle", pod.Annotations[agent.CABundleAnnotation]),
		}},
	}, {
		ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Kind: "Secret", Resource: "secrets", Namespace: d.Namespace, Name: agent.ClientSecretName},
		Conditions:   []metav1.Condition{is(workv1.ManifestApplied), is(workv1.ManifestAvailable)},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{
			text("resourceVersion", w.ResourceVersion), text("certificate", base64.StdEncoding.EncodeToString(certificate)),
		}},
	}}
}
