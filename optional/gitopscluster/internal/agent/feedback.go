// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the names of the feedback values.
const (
	feedbackAvailable       = "availableReplicas"
	feedbackUpdated         = "updatedReplicas"
	feedbackReplicas        = "replicas"
	feedbackObserved        = "observedGeneration"
	feedbackGeneration      = "generation"
	feedbackImage           = "image"
	feedbackDigest          = "certificates"
	feedbackBundle          = "caBundle"
	feedbackResourceVersion = "resourceVersion"
	feedbackCertificate     = "certificate"
	notAvailable            = "ResourceNotAvailable"

	// maxCertificate is how long a certificate may be, as PEM in base64. A certificate with a P-256
	// key has 1 KiB.
	maxCertificate = 8 << 10
	// maxImage is the length of an image's name that is kept.
	maxImage = 512
)

var escapeDots = strings.NewReplacer(".", `\.`)

func deploymentPaths() []workv1.JsonPath {
	return []workv1.JsonPath{
		{Name: feedbackAvailable, Path: ".status.availableReplicas"},
		{Name: feedbackUpdated, Path: ".status.updatedReplicas"},
		{Name: feedbackReplicas, Path: ".status.replicas"},
		{Name: feedbackObserved, Path: ".status.observedGeneration"},
		{Name: feedbackGeneration, Path: ".metadata.generation"},
		{Name: feedbackImage, Path: ".spec.template.spec.containers[0].image"},
		{Name: feedbackDigest, Path: podAnnotation(CertificatesAnnotation)},
		{Name: feedbackBundle, Path: podAnnotation(CABundleAnnotation)},
	}
}

func podAnnotation(key string) string {
	return ".spec.template.metadata.annotations['" + escapeDots.Replace(key) + "']"
}

// secretPaths ask for the certificate, which is no secret, and never for its key.
func secretPaths() []workv1.JsonPath {
	return []workv1.JsonPath{
		{Name: feedbackResourceVersion, Path: ".metadata.resourceVersion"},
		{Name: feedbackCertificate, Path: `.data['tls\.crt']`},
	}
}

// values are the feedback values of one manifest.
type values struct {
	text    map[string]string
	numbers map[string]int64
}

func valuesOf(manifest *workv1.ManifestCondition) values {
	v := values{text: map[string]string{}, numbers: map[string]int64{}}
	if manifest == nil {
		return v
	}
	for _, value := range contract.Clip(manifest.StatusFeedbacks.Values, contract.MaxValues, &contract.Rejected{}) {
		switch {
		case value.Value.Type == workv1.Integer && value.Value.Integer != nil:
			v.numbers[value.Name] = *value.Value.Integer
		case value.Value.Type == workv1.String && value.Value.String != nil:
			v.text[value.Name] = *value.Value.String
		}
	}
	return v
}

// ManifestOf returns the work agent's report about one manifest of a ManifestWork. It returns nil
// if no report exists yet.
func ManifestOf(work *workv1.ManifestWork, id workv1.ResourceIdentifier) *workv1.ManifestCondition {
	manifests := contract.Clip(work.Status.ResourceStatus.Manifests, contract.MaxManifests, &contract.Rejected{})
	i := slices.IndexFunc(manifests, func(m workv1.ManifestCondition) bool {
		r := m.ResourceMeta
		return workv1.ResourceIdentifier{Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name} == id
	})
	if i < 0 {
		return nil
	}
	return &manifests[i]
}

// observation is the reported state of the client certificate's Secret.
type observation struct {
	certificate *Certificate
	commonName  string
	version     string
	// exists and gone are the observations of the work agent: the Secret exists, or does not exist.
	// unable is true if it cannot read the Secret.
	exists, gone, unable bool
}

// known reports whether the cluster has, or had just now, a certificate to connect with, as far as
// the work agent reports.
func (l observation) known() bool { return l.certificate != nil || l.version != "" || l.unable }

func observe(work *workv1.ManifestWork, agentNamespace string) observation {
	manifest := ManifestOf(work, clientSecretID(agentNamespace))
	if manifest == nil {
		return observation{}
	}
	v, l := valuesOf(manifest), observation{}
	l.version = contract.Token(v.text[feedbackResourceVersion], &contract.Rejected{})
	l.certificate, l.commonName = parseCertificate(v.text[feedbackCertificate])
	if available := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestAvailable); available != nil {
		l.exists = available.Status == metav1.ConditionTrue
		l.gone = available.Status == metav1.ConditionFalse && available.Reason == notAvailable
		l.unable = available.Status == metav1.ConditionUnknown
	}
	return l
}

// parseCertificate parses the first certificate of a Secret's tls.crt. It returns nil if the text
// has no certificate.
func parseCertificate(text string) (*Certificate, string) {
	if len(text) > maxCertificate {
		return nil, ""
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, ""
	}
	block, _ := pem.Decode(decoded)
	if block == nil {
		return nil, ""
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, ""
	}
	sum := sha256.Sum256(parsed.Raw)
	c := &Certificate{Fingerprint: strings.ToUpper(hex.EncodeToString(sum[:])), NotAfter: parsed.NotAfter}
	if len(parsed.Subject.Organization) == 1 {
		c.Generation, _ = Generation(parsed.Subject.Organization[0])
	}
	return c, parsed.Subject.CommonName
}

// CertificateName identifies the client certificate of a managed cluster: with another name the
// agent has to be restarted. If the work agent cannot read the Secret, the name comes from the
// registration agent's report on the add-on. While nothing is known, as during a renewal, it is the
// last known name.
func CertificateName(work *workv1.ManifestWork, addOn *addonv1alpha1.ManagedClusterAddOn, agentNamespace string) string {
	if work == nil {
		return ""
	}
	l := observe(work, agentNamespace)
	switch {
	case l.certificate != nil:
		return l.certificate.Fingerprint
	case l.version != "":
		return l.version
	case l.unable && rotated(addOn) != "":
		return rotated(addOn)
	}
	return work.Annotations[ClientCertificateAnnotation]
}

// rotated returns the registration agent's report about its certificate.
func rotated(addOn *addonv1alpha1.ManagedClusterAddOn) string {
	if addOn == nil {
		return ""
	}
	c := meta.FindStatusCondition(addOn.Status.Conditions, conditionRotated)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return contract.Token(c.Message, &contract.Rejected{})
}

// notRotated returns the registration agent's message why it has no certificate, or "".
func notRotated(addOn *addonv1alpha1.ManagedClusterAddOn) string {
	if addOn == nil {
		return ""
	}
	c := meta.FindStatusCondition(addOn.Status.Conditions, conditionRotated)
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return ". Its registration agent reports: " + contract.Message(c.Message, &contract.Rejected{})
}

// KeyGone reports whether the work agent has found, by a [LeavingWork], that the client
// certificate's Secret does not exist.
func KeyGone(leaving *workv1.ManifestWork) bool {
	applied, _ := appliedAs(leaving)
	if !applied || len(leaving.Spec.ManifestConfigs) != 1 {
		return false
	}
	return observe(leaving, leaving.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace).gone
}

// appliedAs reports whether the agent has applied the present generation of the work, and the
// agent's message if it could not.
func appliedAs(work *workv1.ManifestWork) (applied bool, failure string) {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration != work.Generation {
		return false, ""
	}
	if c.Status == metav1.ConditionTrue {
		return true, ""
	}
	var failures []string
	for _, manifest := range contract.Clip(work.Status.ResourceStatus.Manifests, contract.MaxManifests, &contract.Rejected{}) {
		m := meta.FindStatusCondition(manifest.Conditions, workv1.ManifestApplied)
		if m != nil && m.Status != metav1.ConditionTrue && len(failures) < contract.MaxFailures {
			failures = append(failures, fmt.Sprintf("%s %s/%s: %s", manifest.ResourceMeta.Kind, manifest.ResourceMeta.Namespace, manifest.ResourceMeta.Name, m.Message))
		}
	}
	if len(failures) == 0 {
		failures = []string{c.Message}
	}
	return false, contract.Message(strings.Join(failures, "; "), &contract.Rejected{})
}
