// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// clusterPrefix begins the user name and a group with which a managed cluster's registration agent
// acts on the hub.
const clusterPrefix = "system:open-cluster-management:"

// These are limits of requests.
const (
	// MaxRequests is how many requests of one cluster may be younger than [RequestAge]. If there
	// are more, none is signed. No agent without an error sends so many, and OCM's stops at the
	// same number.
	MaxRequests = 10
	// RequestAge is the highest age of a request.
	RequestAge = time.Hour
	maxKeyBits = 8192
	// maxRequest is the highest size of a request with its metadata, in bytes, and maxMarks its
	// highest number of labels and annotations. A request of OCM's registration agent has 2 KiB and
	// three labels, and with the largest key 5 KiB.
	maxRequest = 8 << 10
	maxMarks   = 32
)

// Decision is the decision about a request.
type Decision int

// A denial is final, and the registration agent of a cluster waits forever after one. So only a
// request that another client makes in a cluster's name is denied. Every other request waits until
// it can be signed or expires.
const (
	Wait Decision = iota
	Deny
	Sign
	// Read means that the content of the request decides, and that it has none: the cache keeps none.
	Read
)

// Verdict is the decision about a request, with reason and remedy.
type Verdict struct {
	Decision        Decision
	Reason, Message string
	// Final is true if waiting is useless: the cluster has to send another request.
	Final   bool
	request *x509.CertificateRequest
	rules   Rules
}

// Rules are the rules that apply to all requests.
type Rules struct {
	// ServerName is the one DNS name that a request has.
	ServerName string
}

// ClusterFacts are the hub's facts about the cluster that a request names.
type ClusterFacts struct {
	Cluster          string
	Exists, Accepted bool
	// AddOn is true if our add-on exists, Leaving if it is being deleted, and NoAddOn if none of
	// that name exists.
	AddOn, Leaving, NoAddOn bool
	// Generation is the generation that the add-on requests, or 0.
	Generation int
	// Requests counts the cluster's own requests that are younger than [RequestAge].
	Requests int
}

// OwnRequest reports whether the cluster that a request names has made it. The user name comes from
// the API server, labels and annotations from the client.
func (r Rules) OwnRequest(csr *certificatesv1.CertificateSigningRequest, cluster string) bool {
	user := csr.Spec.Username
	prefix := clusterPrefix + cluster + ":"
	return cluster != "" && !strings.Contains(cluster, ":") && strings.HasPrefix(user, prefix) && len(user) > len(prefix) &&
		slices.Contains(csr.Spec.Groups, clusterPrefix+cluster)
}

// OfACluster reports whether a request was made by the registration agent of some cluster.
func OfACluster(csr *certificatesv1.CertificateSigningRequest) bool {
	return strings.HasPrefix(csr.Spec.Username, clusterPrefix)
}

// TooLarge reports whether a request is too large to be signed. Only its size is read.
func TooLarge(csr *certificatesv1.CertificateSigningRequest) bool {
	return csr.ObjectMeta.Size()+csr.Spec.Size() > maxRequest || len(csr.Labels)+len(csr.Annotations) > maxMarks
}

// Evaluate returns the verdict about a request of our signer.
func (r Rules) Evaluate(csr *certificatesv1.CertificateSigningRequest, facts ClusterFacts, now time.Time) Verdict {
	own := r.OwnRequest(csr, facts.Cluster)
	if own {
		if v := r.evaluateFacts(csr, facts, now); v.Reason != "" {
			return v
		}
	}
	if len(csr.Spec.Request) == 0 {
		return Verdict{Decision: Read}
	}
	if !own {
		return Verdict{Decision: Deny, Reason: "NotItsOwnRequest", Final: true, Message: fmt.Sprintf(
			"user %q may not ask for the argocd-agent certificate of cluster %q: only the cluster's own registration agent may",
			bounded(csr.Spec.Username), bounded(facts.Cluster))}
	}
	text := csr.Spec.Request
	if TooLarge(csr) {
		text = nil
	}
	request, problem := parseRequest(text)
	if problem == "" {
		problem = r.checkRequest(request, csr.Spec.Usages, facts)
	}
	if problem != "" {
		return Verdict{Reason: "RequestNotAccepted", Final: true, Message: "the request " + problem +
			"; delete the request, have the add-on ask for what gitopscluster wrote to its status"}
	}
	if problem := checkGeneration(request.Subject, facts.Generation); problem != "" {
		return Verdict{Reason: "OtherGeneration", Message: problem}
	}
	return Verdict{Decision: Sign, Reason: "RequestAccepted", request: request, rules: r,
		Message: fmt.Sprintf("cluster %s asked for its own argocd-agent certificate of generation %d", facts.Cluster, facts.Generation)}
}

// evaluateFacts returns the wait of the request.
func (r Rules) evaluateFacts(csr *certificatesv1.CertificateSigningRequest, facts ClusterFacts, now time.Time) Verdict {
	switch {
	case !now.Before(csr.CreationTimestamp.Add(RequestAge)):
		return Verdict{Reason: "RequestTooOld", Final: true, Message: fmt.Sprintf(
			"the request is older than %s and is not signed; the cluster is made to ask anew, for the next generation", RequestAge)}
	case facts.Requests > MaxRequests:
		return Verdict{Reason: "TooManyRequests", Message: fmt.Sprintf(
			"cluster %s made %d requests within %s, more than %d: none is signed; find out why its registration agent asks again and again, and delete the requests",
			facts.Cluster, facts.Requests, RequestAge, MaxRequests)}
	case !facts.Exists || !facts.Accepted:
		return Verdict{Reason: "ClusterNotAccepted", Message: fmt.Sprintf("ManagedCluster %s is not accepted; set spec.hubAcceptsClient", facts.Cluster)}
	case !facts.AddOn:
		return Verdict{Reason: "NoAddOn", Message: fmt.Sprintf("cluster %s has no add-on of ours for argocd-agent; have a GitOpsCluster select it", facts.Cluster)}
	case facts.Leaving:
		return Verdict{Reason: "AddOnLeaves", Message: fmt.Sprintf("the add-on of cluster %s is being deleted", facts.Cluster)}
	case facts.Generation < 1:
		return Verdict{Reason: "NoGeneration", Message: fmt.Sprintf("the add-on of cluster %s does not say yet which generation of the certificate it wants", facts.Cluster)}
	}
	return Verdict{}
}

func parseRequest(text []byte) (*x509.CertificateRequest, string) {
	if len(text) == 0 || len(text) > maxRequest { // nil: its metadata is too large
		return nil, fmt.Sprintf("has more than %d bytes with its metadata, or more than %d labels and annotations", maxRequest, maxMarks)
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, "is not one PEM block CERTIFICATE REQUEST"
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, "cannot be read"
	}
	return request, ""
}

// checkRequest names the excess or missing values of a request.
func (r Rules) checkRequest(request *x509.CertificateRequest, usages []certificatesv1.KeyUsage, facts ClusterFacts) string {
	if problem := checkKey(request); problem != "" {
		return problem
	}
	if err := request.CheckSignature(); err != nil {
		return "is not signed with its own key"
	}
	if len(request.IPAddresses)+len(request.EmailAddresses)+len(request.URIs) > 0 {
		return "asks for addresses, mail addresses or URIs"
	}
	if !slices.Equal(request.DNSNames, []string{r.ServerName}) {
		return fmt.Sprintf("asks for other names than %s", r.ServerName)
	}
	if i := slices.IndexFunc(request.Extensions, func(e pkix.Extension) bool { return e.Id.String() != "2.5.29.17" }); i >= 0 {
		return fmt.Sprintf("asks for extension %s", request.Extensions[i].Id)
	}
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return "does not ask for usage client auth"
	}
	for _, usage := range usages {
		switch usage {
		case certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment:
		default:
			return fmt.Sprintf("asks for usage %s", bounded(string(usage)))
		}
	}
	return checkSubject(request.Subject, facts.Cluster)
}

func checkKey(request *x509.CertificateRequest) string {
	switch key := request.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if size := key.Curve.Params().BitSize; size != 256 && size != 384 {
			return fmt.Sprintf("has an EC key of %d bits, neither P-256 nor P-384", size)
		}
	case *rsa.PublicKey:
		if size := key.N.BitLen(); size < 2048 || size > maxKeyBits {
			return fmt.Sprintf("has an RSA key of %d bits, not 2048 to %d", size, maxKeyBits)
		}
	default:
		return "has a key that is neither EC nor RSA"
	}
	return ""
}

// checkSubject requires a common name, an organisation in the form of a generation, and nothing
// else.
func checkSubject(subject pkix.Name, cluster string) string {
	_, generation := generationOf(subject)
	if subject.CommonName != cluster || !generation || len(subject.Names) != 2 {
		return fmt.Sprintf("has subject %q, not CN=%s,O=g<generation>", bounded(subject.String()), cluster)
	}
	return ""
}

func checkGeneration(subject pkix.Name, want int) string {
	if is, _ := generationOf(subject); is != want {
		return fmt.Sprintf("the request is for generation %d of the certificate, the add-on wants %d; its registration agent will ask anew", is, want)
	}
	return ""
}

func generationOf(subject pkix.Name) (int, bool) {
	if len(subject.Organization) != 1 {
		return 0, false
	}
	digits, found := strings.CutPrefix(subject.Organization[0], "g")
	n, err := strconv.Atoi(digits)
	return n, found && err == nil && n > 0 && strconv.Itoa(n) == digits
}

// Issue signs an accepted request for at most life, and returns the certificate as PEM
// and the record to be kept of it.
func (a *Authority) Issue(v Verdict, csr *certificatesv1.CertificateSigningRequest, life time.Duration, now time.Time) ([]byte, Issued, error) {
	if v.Decision != Sign {
		return nil, Issued{}, fmt.Errorf("sign CertificateSigningRequest %s: it was not accepted", csr.Name)
	}
	if requested := csr.Spec.ExpirationSeconds; requested != nil {
		life = min(life, max(time.Duration(*requested)*time.Second, minIssuedLife))
	}
	if now.Add(minIssuedLife).After(a.Certificate.NotAfter) {
		return nil, Issued{}, fmt.Errorf("sign CertificateSigningRequest %s: CA %s ends at %s", csr.Name, a.ID(), a.Certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	serial, err := newSerial()
	if err != nil {
		return nil, Issued{}, err
	}
	generation, _ := generationOf(v.request.Subject)
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: v.request.Subject.CommonName, Organization: v.request.Subject.Organization},
		NotBefore:    now.Add(-skew), NotAfter: a.until(now.Add(life)),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames: []string{v.rules.ServerName}, BasicConstraintsValid: true,
	}
	certificate, err := a.issue(rand.Reader, template, v.request.PublicKey)
	if err != nil {
		return nil, Issued{}, fmt.Errorf("sign CertificateSigningRequest %s: %w", csr.Name, err)
	}
	return EncodeCertificates(certificate), record(certificate, generation, a.ID(), string(csr.UID)), nil
}

// RequestedGeneration returns the generation that a request is for, 0 when it names none.
func RequestedGeneration(text []byte) int {
	request, problem := parseRequest(text)
	if problem != "" {
		return 0
	}
	generation, _ := generationOf(request.Subject)
	return generation
}
