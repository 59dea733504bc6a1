// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// spoke has the reports of a managed cluster's agents.
type spoke struct {
	t *testing.T
	w Desired
	Existing
}

// well returns a cluster on which everything is as desired.
func well(t *testing.T) *spoke {
	t.Helper()
	s := &spoke{t: t, w: wanted(t)}
	s.Cluster = status.Cluster{Name: "c1", Exists: true, Available: true, Since: start}
	s.AddOn = AddOn(s.w)
	s.AddOn.Status.Conditions = []metav1.Condition{{Type: conditionRotated, Status: metav1.ConditionTrue, Message: "until tomorrow"}}
	s.hold(certificatePEM(t, "c1", "g1", time.Hour))
	return s
}

// hold gives the cluster a certificate, and a Deployment that runs with it.
func (s *spoke) hold(certificate []byte) {
	s.Work = mustWork(s.t, s.w, "")
	s.Work.Generation = 3
	encoded := base64.StdEncoding.EncodeToString(certificate)
	look := manifest("secrets", ClientSecretName, "", text(feedbackResourceVersion, "17"), text(feedbackCertificate, encoded))
	s.Work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{look}
	s.Work = mustWork(s.t, s.w, CertificateName(s.Work, s.AddOn, s.w.AgentNamespace))
	s.Work.Generation = 3
	digest := s.Work.Annotations[CertificatesAnnotation]
	s.Work.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: 3}}
	s.Work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{look, manifest("deployments", DeploymentName, "apps",
		number(feedbackAvailable, 1), number(feedbackUpdated, 1), number(feedbackReplicas, 1), number(feedbackObserved, 7), number(feedbackGeneration, 7),
		text(feedbackImage, s.w.Image), text(feedbackDigest, digest), text(feedbackBundle, "bundle"))}
}

func manifest(resource, name, group string, values ...workv1.FeedbackValue) workv1.ManifestCondition {
	return workv1.ManifestCondition{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: group, Resource: resource, Kind: strings.ToUpper(resource), Namespace: "argocd", Name: name},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
		Conditions: []metav1.Condition{
			{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue}, {Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue},
		},
	}
}

func text(name, value string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}}
}

func number(name string, value int64) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &value}}
}

// cached returns the objects as a cache keeps them.
func (s *spoke) cached() Existing {
	s.t.Helper()
	existing := Existing{Cluster: s.Cluster, Work: s.Work.DeepCopy(), AddOn: s.AddOn.DeepCopy()}
	if s.Work == nil {
		return existing
	}
	for _, o := range []any{existing.Work, existing.AddOn} {
		if kept, err := Transform(o); err != nil || kept != o {
			s.t.Fatalf("the transform returned %v, %v", kept, err)
		}
	}
	return existing
}

func (s *spoke) deployment() *workv1.ManifestCondition {
	return &s.Work.Status.ResourceStatus.Manifests[1]
}
func (s *spoke) secret() *workv1.ManifestCondition { return &s.Work.Status.ResourceStatus.Manifests[0] }

// say changes one value of a manifest's feedback.
func say(m *workv1.ManifestCondition, value workv1.FeedbackValue) {
	for i := range m.StatusFeedbacks.Values {
		if m.StatusFeedbacks.Values[i].Name == value.Name {
			m.StatusFeedbacks.Values[i] = value
		}
	}
}

func available(m *workv1.ManifestCondition, status metav1.ConditionStatus, reason string) {
	m.Conditions[1].Status, m.Conditions[1].Reason = status, reason
}

func TestStateOf(t *testing.T) {
	type flags struct{ applied, certificate, deployed, connected bool }
	cases := map[string]struct {
		why     string
		change  func(*spoke)
		want    flags
		waits   string
		reason  string
		message string
	}{
		"well":     {"everything is said to be as wanted", func(*spoke) {}, flags{true, true, true, true}, "", connectedReason, "connected"},
		"nothing":  {"nothing was written yet", func(s *spoke) { s.Work, s.AddOn = nil, nil }, flags{}, WaitsForWork, ReasonWorkNotApplied, "not yet applied"},
		"behind":   {"the agent has not seen the latest spec", func(s *spoke) { s.Work.Generation = 4 }, flags{false, true, false, false}, WaitsForWork, ReasonWorkNotApplied, "not yet applied"},
		"conflict": {"the agent's own words are told", func(s *spoke) { s.refuse("conflict with x") }, flags{false, true, false, false}, WaitsForWork, ReasonWorkNotApplied, "DEPLOYMENTS argocd/mci-argocd-agent: conflict with x"},
		"no secret": {"a certificate that never was is needed", func(s *spoke) {
			s.none()
			say(s.deployment(), text(feedbackDigest, "of a certificate"))
		}, flags{true, false, false, false}, WaitsForClientCertificate, ReasonNotConnected, "CertificateSigningRequests"},
		"renewing":   {"an agent keeps the key that it has read", func(s *spoke) { available(s.secret(), metav1.ConditionFalse, notAvailable) }, flags{true, false, true, true}, WaitsForClientCertificate, connectedReason, "awaited"},
		"raised":     {"a certificate of another generation is not the wanted one", func(s *spoke) { s.w.Generation = 2 }, flags{true, false, true, true}, WaitsForClientCertificate, connectedReason, "awaited"},
		"ready":      {"no agent connects without a certificate, whatever its pod says", func(s *spoke) { s.none() }, flags{true, false, true, false}, WaitsForClientCertificate, ReasonNotConnected, "CertificateSigningRequests"},
		"foreign":    {"nor one for another cluster", func(s *spoke) { s.hold(certificatePEM(s.t, "c2", "g1", time.Hour)) }, flags{true, false, true, true}, WaitsForClientCertificate, connectedReason, "awaited"},
		"expired":    {"nor an expired one", func(s *spoke) { s.hold(certificatePEM(s.t, "c1", "g1", time.Second)) }, flags{true, false, true, true}, WaitsForClientCertificate, connectedReason, "awaited"},
		"blind":      {"where the work agent may not read Secrets, the add-on has to do", func(s *spoke) { s.blind() }, flags{true, true, true, true}, "", connectedReason, "connected"},
		"image":      {"agents of another version are refused", func(s *spoke) { say(s.deployment(), text(feedbackImage, "old")) }, flags{true, true, false, false}, WaitsForDeployment, ReasonVersionMismatch, "image old"},
		"rolling":    {"the new pod is not there yet", func(s *spoke) { say(s.deployment(), number(feedbackUpdated, 0)) }, flags{true, true, false, false}, WaitsForDeployment, ReasonNotConnected, "latest settings"},
		"unseen":     {"the Deployment's controller is behind", func(s *spoke) { say(s.deployment(), number(feedbackObserved, 6)) }, flags{true, true, false, false}, WaitsForDeployment, ReasonNotConnected, "latest settings"},
		"digest":     {"it runs with older settings", func(s *spoke) { s.w.Address = "other" }, flags{true, true, false, false}, WaitsForDeployment, ReasonNotConnected, "latest settings"},
		"unready":    {"it runs, and says that it is not connected", func(s *spoke) { say(s.deployment(), number(feedbackAvailable, 0)) }, flags{true, true, true, false}, WaitsForConnection, ReasonNotConnected, "principal.example.com:443"},
		"away":       {"what was said before is not known to be so", func(s *spoke) { s.Cluster.Available = false }, flags{true, true, true, false}, WaitsForConnection, ReasonClusterUnavailable, "is not available"},
		"mute":       {"an empty report is none", func(s *spoke) { s.Work.Status.ResourceStatus.Manifests = nil }, flags{true, false, false, false}, WaitsForClientCertificate, ReasonNotConnected, ""},
		"wrong type": {"a value of another type was not reported", func(s *spoke) { say(s.deployment(), text(feedbackUpdated, "1")) }, flags{true, true, false, false}, WaitsForDeployment, ReasonNotConnected, ""},
		"huge": {"a huge certificate is not decoded", func(s *spoke) {
			s.hold(append(certificatePEM(s.t, "c1", "g1", time.Hour), strings.Repeat("\n", 1<<16)...))
		},
			flags{true, false, true, true}, WaitsForClientCertificate, connectedReason, "awaited"},
		"garbage": {"nor is anything else one", func(s *spoke) { say(s.secret(), text(feedbackCertificate, "AAAA")) },
			flags{true, false, false, false}, WaitsForClientCertificate, ReasonNotConnected, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := well(t)
			c.change(s)
			got, err := StateOf(s.w, s.Existing, start.Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if f := (flags{got.WorkApplied, got.ClientCertificate, got.Deployed, got.Connected}); f != c.want {
				t.Errorf("%s: got %+v, want %+v", c.why, f, c.want)
			}
			if got.WaitingFor != c.waits || got.Reason != c.reason || !strings.Contains(got.Message, c.message) || got.Message == "" || len(got.Message) > 2*contract.MaxMessage {
				t.Errorf("%s: waits for %q, reason %s, message %q", c.why, got.WaitingFor, got.Reason, got.Message)
			}
			if cached, err := StateOf(s.w, s.cached(), start.Add(time.Minute)); err != nil || cached != got {
				t.Errorf("with the objects of a cache it is %+v, %v; want %+v", cached, err, got)
			}
			condition, said := Available(got)
			if (condition.Status == metav1.ConditionTrue) != got.Connected || said != s.Cluster.Available || condition.Reason == "" {
				t.Errorf("the add-on's condition is %+v, said: %t", condition, said)
			}
		})
	}
}

func (s *spoke) refuse(message string) {
	s.Work.Status.Conditions[0].Status = metav1.ConditionFalse
	s.deployment().Conditions[0] = metav1.Condition{Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Message: message + strings.Repeat("x", 1<<16)}
}

// blind removes the work agent's permission to read Secrets.
func (s *spoke) blind() {
	s.secret().StatusFeedbacks.Values = nil
	available(s.secret(), metav1.ConditionUnknown, "FetchingResourceFailed")
	digest, err := digest(s.w, "until tomorrow")
	if err != nil {
		s.t.Fatal(err)
	}
	say(s.deployment(), text(feedbackDigest, digest))
}

// none removes the certificate of a cluster. Its Deployment continues to run.
func (s *spoke) none() {
	delete(s.Work.Annotations, ClientCertificateAnnotation)
	s.secret().StatusFeedbacks.Values = nil
	available(s.secret(), metav1.ConditionFalse, notAvailable)
	digest, err := digest(s.w, "")
	if err != nil {
		s.t.Fatal(err)
	}
	say(s.deployment(), text(feedbackDigest, digest))
}

// The certificate keeps its name, so that the agent restarts once per certificate.
func TestCertificateName(t *testing.T) {
	s := well(t)
	first := CertificateName(s.Work, s.AddOn, "argocd")
	bundle, name, started := RunsWith(s.Work, s.AddOn, "argocd")
	if bundle != "bundle" || name != first || !started {
		t.Errorf("the agent has CA bundle %q and certificate %q, started with it: %t", bundle, name, started)
	}
	certificate := observe(s.Work, "argocd").certificate
	if certificate == nil || len(first) != 64 || certificate.Fingerprint != first || certificate.Generation != 1 || !certificate.NotAfter.Equal(start.Add(time.Hour)) {
		t.Errorf("the certificate is %q, %+v", first, certificate)
	}
	say(s.secret(), text(feedbackResourceVersion, "18"))
	if again := CertificateName(s.Work, s.AddOn, "argocd"); again != first {
		t.Errorf("another change of the Secret made %q", again)
	}
	say(s.secret(), text(feedbackCertificate, "AAAA"))
	if other := CertificateName(s.Work, s.AddOn, "argocd"); other != "18" {
		t.Errorf("without a certificate it is called %q", other)
	}
	s.Work.Annotations[ClientCertificateAnnotation] = first
	s.Work.Status = workv1.ManifestWorkStatus{}
	if kept := CertificateName(s.Work, s.AddOn, "argocd"); kept != first {
		t.Errorf("while nothing is said it is called %q", kept)
	}
	if none := CertificateName(nil, s.AddOn, "argocd"); none != "" {
		t.Errorf("without a work it is called %q", none)
	}
}

// A cluster reports its new certificate before its agent restarts with it. Until then the principal must
// trust the former CA.
func TestRunsWith(t *testing.T) {
	renewed := func(s *spoke) {
		say(s.secret(), text(feedbackCertificate, base64.StdEncoding.EncodeToString(certificatePEM(s.t, "c1", "g1", 2*time.Hour))))
	}
	delivered := func(s *spoke) {
		want := mustWork(s.t, s.w, CertificateName(s.Work, s.AddOn, s.w.AgentNamespace))
		s.Work.Annotations, s.Work.Spec = want.Annotations, want.Spec
	}
	restarted := func(s *spoke) { say(s.deployment(), text(feedbackDigest, s.Work.Annotations[CertificatesAnnotation])) }
	cases := map[string]struct {
		steps []func(*spoke)
		want  bool
	}{
		"well":          {nil, true},
		"renewed":       {[]func(*spoke){renewed}, false},
		"delivered":     {[]func(*spoke){renewed, delivered}, false},
		"restarted":     {[]func(*spoke){renewed, delivered, restarted}, true},
		"not available": {[]func(*spoke){func(s *spoke) { say(s.deployment(), number(feedbackAvailable, 0)) }}, false},
		"old pods":      {[]func(*spoke){func(s *spoke) { say(s.deployment(), number(feedbackReplicas, 2)) }}, false},
		"not observed":  {[]func(*spoke){func(s *spoke) { say(s.deployment(), number(feedbackGeneration, 8)) }}, false},
		"no digests": {[]func(*spoke){func(s *spoke) {
			delete(s.Work.Annotations, CertificatesAnnotation)
			say(s.deployment(), text(feedbackDigest, ""))
		}}, false},
		"Secret refused": {[]func(*spoke){func(s *spoke) { s.refuse("conflict") }}, false},
		"no Secret read": {[]func(*spoke){(*spoke).blind, delivered, restarted}, true},
		"another message": {[]func(*spoke){(*spoke).blind, delivered, restarted, func(s *spoke) {
			s.AddOn.Status.Conditions[0].Message = "until next week"
		}}, false},
		"no report": {[]func(*spoke){func(s *spoke) { s.Work.Status = workv1.ManifestWorkStatus{} }}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := well(t)
			for _, step := range c.steps {
				step(s)
			}
			bundle, name, started := RunsWith(s.Work, s.AddOn, "argocd")
			existing := s.cached()
			if b, n, is := RunsWith(existing.Work, existing.AddOn, "argocd"); b != bundle || n != name || is != started {
				t.Errorf("with the objects of a cache it is %q, %q, %t; want %q, %q, %t", b, n, is, bundle, name, started)
			}
			if started != c.want {
				t.Errorf("started with its certificate: %t", started)
			}
			if applied, _ := appliedAs(s.Work); !applied && bundle != "" {
				t.Errorf("the bundle %q counts before the work is applied", bundle)
			}
		})
	}
}

func TestAddOn(t *testing.T) {
	w := wanted(t)
	w.Generation = 4
	a := AddOn(w)
	if !IsOurs(a) || a.Spec.InstallNamespace != "argocd" || a.Annotations[OwnerAnnotation] != "argocd/fleet" || a.Annotations[ArgoNamespaceAnnotation] != "argocd" || a.Labels[OwnedLabel] != "true" {
		t.Errorf("the add-on is %+v", a)
	}
	if IsOurs(&addonv1alpha1.ManagedClusterAddOn{}) {
		t.Error("an add-on without our annotation is taken for ours")
	}
	want := []addonv1alpha1.RegistrationConfig{{SignerName: SignerName, Subject: addonv1alpha1.Subject{User: "c1", Groups: []string{"g4"}}}}
	if diff := cmp.Diff(want, Registrations(w)); diff != "" {
		t.Errorf("registrations (-want +got):\n%s", diff)
	}
}
