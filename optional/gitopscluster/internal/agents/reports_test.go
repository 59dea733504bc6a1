// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
)

// Until the agent is reconciled, the add-on reports the old connection. The ManifestWork may already report
// a certificate that the agent was not started with.
func TestReporter_reportsWhetherTheAgentHasRestarted(t *testing.T) {
	ca, err := pki.NewAuthority(time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.IssueServer("c1", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(leaf.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}

	text := func(name, value string) workv1.FeedbackValue {
		return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
	}
	one := int64(1)
	values := []workv1.FeedbackValue{text("certificates", "digest")}
	for _, name := range []string{"availableReplicas", "updatedReplicas", "replicas", "observedGeneration", "generation"} {
		values = append(values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &one}})
	}
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{agent.CertificatesAnnotation: "digest"}}}
	work.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue}}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: "apps", Resource: "deployments", Namespace: "argocd", Name: agent.DeploymentName},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
	}, {
		ResourceMeta:    workv1.ManifestResourceMeta{Resource: "secrets", Namespace: "argocd", Name: agent.ClientSecretName},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{text("certificate", base64.StdEncoding.EncodeToString(pem.EncodeToMemory(block)))}},
	}}
	addOn := agent.AddOn(agent.Desired{Cluster: "c1", AgentNamespace: "argocd"})
	addOn.Status = addonv1alpha1.ManagedClusterAddOnStatus{Conditions: []metav1.Condition{{Type: addonv1alpha1.ManagedClusterAddOnConditionAvailable, Status: metav1.ConditionTrue}}}
	issued, err := json.Marshal([]pki.Issued{{SHA256: pki.Fingerprint(certificate), Expires: certificate.NotAfter}})
	if err != nil {
		t.Fatal(err)
	}
	addOn.Annotations[agent.IssuedAnnotation] = string(issued)
	r := &reporter{client: hub.client, signing: sign.Options{}, secret: func(context.Context, string, string) ([]string, string, error) { return nil, "", nil }}
	v := &view{grace: map[string]time.Duration{"c1": time.Hour}, existing: map[string]presence{"c1": {addOn: addOn, work: work, available: true}}}
	for named, want := range map[string]bool{"the one before": false, pki.Fingerprint(certificate): true} {
		work.Annotations[agent.ClientCertificateAnnotation] = named
		reports, _, err := r.of(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		if len(reports) != 1 || !reports[0].Connected || reports[0].Holds != pki.Fingerprint(certificate) || reports[0].Started != want {
			t.Errorf("the work was delivered for certificate %s: reports %+v", named, reports)
		}
	}
	// A change of the CA waits for it as long as its GitOpsCluster may only be missing.
	v.grace["c1"] = 0
	if reports, _, err := r.of(t.Context(), v); err != nil || len(reports) != 0 {
		t.Errorf("after the grace period: reports %+v, %v", reports, err)
	}
}

// If a cluster does not report the certificate, the date in its registration agent's message selects the
// issued certificate.
func TestFingerprintOf(t *testing.T) {
	expires := time.Date(2026, 12, 3, 16, 1, 25, 0, time.UTC)
	issued := []pki.Issued{{SHA256: "AA", Expires: expires.Add(-time.Hour)}, {SHA256: "BB", Expires: expires.In(time.FixedZone("", 3600))}}
	for name, want := range map[string]string{
		"AA": "AA", "CC": "", "": "", "17": "",
		"client certificate rotated starting from 2026-11-26 16:01:25 +0000 UTC to 2026-12-03 16:01:25 +0000 UTC": "BB",
		"client certificate rotated starting from 2026-11-26 15:01:25 +0000 UTC to 2026-12-03 15:01:25 +0000 UTC": "AA",
		"client certificate rotated starting from 2026-12-03 16:01:25 +0000 UTC to 2026-12-10 16:01:25 +0000 UTC": "",
	} {
		if got := fingerprintOf(name, issued); got != want {
			t.Errorf("%q is certificate %q, want %q", name, got, want)
		}
	}
}
