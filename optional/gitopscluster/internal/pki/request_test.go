// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const years = 5 * 365 * 24 * time.Hour

func authority(t *testing.T, now time.Time) *Authority {
	t.Helper()
	a, err := NewAuthority(now, years)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parsed(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	found, err := ParseCertificates(text)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

const serverName = "mci-argocd-agent.addon.open-cluster-management.io"

var rules = Rules{ServerName: serverName}

// asked is a request of OCM's registration agent.
type asked struct {
	template x509.CertificateRequest
	key      crypto.Signer
	usages   []certificatesv1.KeyUsage
	user     string
	groups   []string
	change   func(*certificatesv1.CertificateSigningRequest)
}

func honest() *asked {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &asked{
		template: x509.CertificateRequest{Subject: pkix.Name{CommonName: "c1", Organization: []string{"g3"}}, DNSNames: []string{serverName}},
		key:      key,
		usages:   []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth},
		user:     "system:open-cluster-management:c1:abcde", groups: []string{"system:open-cluster-management:c1", "system:authenticated"},
		change: func(*certificatesv1.CertificateSigningRequest) {},
	}
}

func (a *asked) csr(t *testing.T) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &a.template, a.key)
	if err != nil {
		t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "u", CreationTimestamp: metav1.NewTime(day.Add(-time.Minute))},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), Usages: a.usages, Username: a.user, Groups: a.groups,
		},
	}
	a.change(csr)
	return csr
}

func TestEvaluate(t *testing.T) {
	uri, _ := url.Parse("spiffe://c1")
	cases := map[string]struct {
		reason string
		ask    func(*asked)
		facts  func(*ClusterFacts)
		want   Decision
		says   string
	}{
		"honest":  {reason: "what an agent in its right mind asks is signed", want: Sign, says: "RequestAccepted"},
		"relayed": {reason: "an annotation is no proof, whichever client wrote it", want: Deny, says: "NotItsOwnRequest", ask: func(a *asked) { a.relayed("system:open-cluster-management:c1:abcde") }},
		"p384": {reason: "a longer key is as good", want: Sign, says: "RequestAccepted", ask: func(a *asked) {
			a.key, _ = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		}},
		"fewer usages": {reason: "client auth is enough", want: Sign, says: "RequestAccepted", ask: func(a *asked) { a.usages = a.usages[2:] }},

		"other user":      {reason: "another cluster asks in c1's name", want: Deny, says: "NotItsOwnRequest", ask: func(a *asked) { a.user = "system:open-cluster-management:c2:abcde" }},
		"other group":     {reason: "the user name alone may have been bought by impersonation of users", want: Deny, says: "NotItsOwnRequest", ask: func(a *asked) { a.groups = []string{"system:open-cluster-management:c2"} }},
		"administrator":   {reason: "nobody else may, whoever it is", want: Deny, says: "NotItsOwnRequest", ask: func(a *asked) { a.user = "admin" }},
		"longer name":     {reason: "c1's name begins like c1", want: Deny, says: "NotItsOwnRequest", ask: func(a *asked) { a.user = "system:open-cluster-management:c1x:abcde" }},
		"no identity":     {reason: "an agent has a name of its own", want: Deny, says: "NotItsOwnRequest", ask: func(a *asked) { a.user = "system:open-cluster-management:c1:" }},
		"no cluster":      {reason: "without a label it is in nobody's name", want: Deny, says: "NotItsOwnRequest", facts: func(f *ClusterFacts) { f.Cluster = "" }},
		"other subject":   {reason: "a certificate of c2 for c1", says: "RequestNotAccepted", ask: func(a *asked) { a.template.Subject.CommonName = "c2" }},
		"no organisation": {reason: "the generation has to be there", says: "RequestNotAccepted", ask: func(a *asked) { a.template.Subject.Organization = nil }},
		"organisation":    {reason: "an organisation is a generation", says: "RequestNotAccepted", ask: func(a *asked) { a.template.Subject.Organization = []string{"CN=c2"} }},
		"two":             {reason: "one too many", says: "RequestNotAccepted", ask: func(a *asked) { a.template.Subject.Organization = []string{"g3", "g4"} }},
		"leading zero":    {reason: "one generation has one name", says: "RequestNotAccepted", ask: func(a *asked) { a.template.Subject.Organization = []string{"g03"} }},
		"unit":            {reason: "nothing else in the subject", says: "RequestNotAccepted", ask: func(a *asked) { a.template.Subject.OrganizationalUnit = []string{"x"} }},
		"unknown part": {reason: "nothing else, known or not", says: "RequestNotAccepted", ask: func(a *asked) {
			a.template.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: []int{1, 2, 3}, Value: "x"}}
		}},
		"older generation": {reason: "it was asked before the add-on wanted another", says: "OtherGeneration", ask: func(a *asked) { a.template.Subject.Organization = []string{"g2"} }},
		"newer generation": {reason: "the cluster does not say which", says: "OtherGeneration", ask: func(a *asked) { a.template.Subject.Organization = []string{"g4"} }},
		"extra name":       {reason: "a name of a server", says: "RequestNotAccepted", ask: func(a *asked) { a.template.DNSNames = append(a.template.DNSNames, "hub.example.com") }},
		"no name":          {reason: "the registration agent always asks for it", says: "RequestNotAccepted", ask: func(a *asked) { a.template.DNSNames = nil }},
		"address":          {reason: "no addresses", says: "RequestNotAccepted", ask: func(a *asked) { a.template.IPAddresses = []net.IP{{10, 0, 0, 1}} }},
		"mail":             {reason: "no mail", says: "RequestNotAccepted", ask: func(a *asked) { a.template.EmailAddresses = []string{"a@example.com"} }},
		"uri":              {reason: "no URI", says: "RequestNotAccepted", ask: func(a *asked) { a.template.URIs = []*url.URL{uri} }},
		"extension": {reason: "to be a CA", says: "RequestNotAccepted", ask: func(a *asked) {
			a.template.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}},
		"server auth": {reason: "to be a principal", says: "RequestNotAccepted", ask: func(a *asked) { a.usages = append(a.usages, certificatesv1.UsageServerAuth) }},
		"no client":   {reason: "what is issued is for clients", says: "RequestNotAccepted", ask: func(a *asked) { a.usages = a.usages[:2] }},
		"weak RSA":    {reason: "1024 bits", says: "RequestNotAccepted", ask: func(a *asked) { a.key = weak }},
		"P-224":       {reason: "too short", says: "RequestNotAccepted", ask: func(a *asked) { a.key, _ = ecdsa.GenerateKey(elliptic.P224(), rand.Reader) }},
		"Ed25519":     {reason: "of a kind that not everybody verifies", says: "RequestNotAccepted", ask: func(a *asked) { _, a.key, _ = ed25519.GenerateKey(rand.Reader) }},
		"garbage": {reason: "it cannot be read", says: "RequestNotAccepted", ask: func(a *asked) {
			a.change = func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Request = []byte("x") }
		}},
		"large": {reason: "it is not even read", says: "RequestNotAccepted", ask: func(a *asked) {
			a.change = func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Request = bytes.Repeat(c.Spec.Request, 100) }
		}},
		"large metadata": {reason: "it is not even read", says: "RequestNotAccepted", ask: func(a *asked) {
			a.change = func(c *certificatesv1.CertificateSigningRequest) {
				c.Annotations = map[string]string{"a": strings.Repeat("x", maxRequest)}
			}
		}},
		"forged key":    {reason: "somebody else's public key", says: "RequestNotAccepted", ask: func(a *asked) { a.change = otherSignature }},
		"old":           {reason: "older than an hour", says: "RequestTooOld", ask: func(a *asked) { a.change = aged(RequestAge) }},
		"nearly old":    {reason: "younger than an hour", want: Sign, says: "RequestAccepted", ask: func(a *asked) { a.change = aged(RequestAge - time.Second) }},
		"flood":         {reason: "eleven within an hour", says: "TooManyRequests", facts: func(f *ClusterFacts) { f.Requests = 11 }},
		"nearly flood":  {reason: "ten within an hour", want: Sign, says: "RequestAccepted", facts: func(f *ClusterFacts) { f.Requests = 10 }},
		"gone":          {reason: "there is no such cluster", says: "ClusterNotAccepted", facts: func(f *ClusterFacts) { f.Exists = false }},
		"not accepted":  {reason: "it may be accepted later", says: "ClusterNotAccepted", facts: func(f *ClusterFacts) { f.Accepted = false }},
		"no add-on":     {reason: "nobody wants an agent there", says: "NoAddOn", facts: func(f *ClusterFacts) { f.AddOn = false }},
		"leaving":       {reason: "the agent is going", says: "AddOnLeaves", facts: func(f *ClusterFacts) { f.Leaving = true }},
		"no generation": {reason: "the add-on is being made", says: "NoGeneration", facts: func(f *ClusterFacts) { f.Generation = 0 }},
	}
	ca := authority(t, day)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, facts := honest(), ClusterFacts{Cluster: "c1", Exists: true, Accepted: true, AddOn: true, Generation: 3, Requests: 1}
			if c.ask != nil {
				c.ask(a)
			}
			if c.facts != nil {
				c.facts(&facts)
			}
			csr := a.csr(t)
			v := rules.Evaluate(csr, facts, day)
			if v.Decision != c.want || v.Reason != c.says || v.Message == "" {
				t.Fatalf("%s: decided %d, %s: %s", c.reason, v.Decision, v.Reason, v.Message)
			}
			if _, _, err := ca.Issue(v, csr, time.Hour, day); (err == nil) != (c.want == Sign) {
				t.Errorf("%s: issuing it: %v", c.reason, err)
			}
		})
	}
}

// The cache keeps no content of a request. It is read only if the decision depends on it.
func TestEvaluate_withoutContent(t *testing.T) {
	csr := honest().csr(t)
	csr.Spec.Request = nil
	facts := ClusterFacts{Cluster: "c1", Exists: true, Accepted: true, AddOn: true, Generation: 3, Requests: 1}
	for _, c := range []struct {
		why    string
		change func(*ClusterFacts)
		want   Decision
	}{
		{"its content decides", func(*ClusterFacts) {}, Read},
		{"it is denied, which is written to it", func(f *ClusterFacts) { f.Cluster = "c2" }, Read},
		{"it waits whatever its content is", func(f *ClusterFacts) { f.Requests = MaxRequests + 1 }, Wait},
	} {
		facts := facts
		c.change(&facts)
		if v := rules.Evaluate(csr, facts, day); v.Decision != c.want {
			t.Errorf("%s: decided %d, %s", c.why, v.Decision, v.Message)
		}
	}
}

func (a *asked) relayed(user string) {
	a.user, a.groups = "system:serviceaccount:hub:relay", nil
	a.change = func(c *certificatesv1.CertificateSigningRequest) { c.Annotations = map[string]string{"user": user} }
}

func aged(by time.Duration) func(*certificatesv1.CertificateSigningRequest) {
	return func(c *certificatesv1.CertificateSigningRequest) { c.CreationTimestamp = metav1.NewTime(day.Add(-by)) }
}

// otherSignature breaks the signature, which proves that the requester has the key.
func otherSignature(c *certificatesv1.CertificateSigningRequest) {
	block, _ := pem.Decode(c.Spec.Request)
	block.Bytes[len(block.Bytes)-1] ^= 1
	c.Spec.Request = pem.EncodeToMemory(block)
}

// A request with the largest key fits with the labels and the user that OCM gives it.
func TestTooLarge(t *testing.T) {
	largest := honest()
	key, err := rsa.GenerateKey(rand.Reader, 4096) // the largest key has twice the size, and takes a minute
	if err != nil {
		t.Fatal(err)
	}
	largest.key = key
	named := func(c *certificatesv1.CertificateSigningRequest) {
		c.GenerateName = "addon-" + strings.Repeat("c", 63) + "-mci-argocd-agent-"
		c.Labels = map[string]string{"open-cluster-management.io/cluster-name": strings.Repeat("c", 63), "open-cluster-management.io/addon-name": "mci-argocd-agent"}
		c.Spec.Request = append(c.Spec.Request, make([]byte, 2<<10)...) // the difference to the largest key
		c.Spec.Extra = map[string]certificatesv1.ExtraValue{"authentication.kubernetes.io/credential-id": {"X509SHA256=" + strings.Repeat("0", 64)}}
	}
	marks := func(n int) func(*certificatesv1.CertificateSigningRequest) {
		return func(c *certificatesv1.CertificateSigningRequest) {
			c.Annotations = map[string]string{}
			for i := range n {
				c.Annotations[strconv.Itoa(i)] = ""
			}
		}
	}
	for name, c := range map[string]struct {
		ask    *asked
		change func(*certificatesv1.CertificateSigningRequest)
		want   bool
	}{
		"usual":       {honest(), func(*certificatesv1.CertificateSigningRequest) {}, false},
		"largest key": {largest, named, false},
		"annotation": {honest(), func(c *certificatesv1.CertificateSigningRequest) {
			c.Annotations = map[string]string{"a": strings.Repeat("x", maxRequest)}
		}, true},
		"owners": {honest(), func(c *certificatesv1.CertificateSigningRequest) {
			c.OwnerReferences = []metav1.OwnerReference{{Name: strings.Repeat("x", maxRequest)}}
		}, true},
		"request":          {honest(), func(c *certificatesv1.CertificateSigningRequest) { c.Spec.Request = make([]byte, maxRequest) }, true},
		"annotations":      {honest(), marks(maxMarks), false},
		"many annotations": {honest(), marks(maxMarks + 1), true},
		"certificate":      {honest(), func(c *certificatesv1.CertificateSigningRequest) { c.Status.Certificate = make([]byte, maxRequest) }, false},
	} {
		csr := c.ask.csr(t)
		c.change(csr)
		if got := TooLarge(csr); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// weak is a key of 1024 bits. Go's standard library refuses to generate one.
var weak = func() *rsa.PrivateKey {
	for {
		p, _ := rand.Prime(rand.Reader, 512)
		q, _ := rand.Prime(rand.Reader, 512)
		one, e := big.NewInt(1), big.NewInt(65537)
		n := new(big.Int).Mul(p, q)
		d := new(big.Int).ModInverse(e, new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one)))
		if d != nil && n.BitLen() == 1024 && p.Cmp(q) != 0 {
			return &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n, E: 65537}, D: d, Primes: []*big.Int{p, q}}
		}
	}
}()

func TestIssue(t *testing.T) {
	facts := ClusterFacts{Cluster: "c1", Exists: true, Accepted: true, AddOn: true, Generation: 3}
	seconds := func(n int32) *int32 { return &n }
	cases := map[string]struct {
		reason  string
		asked   *int32
		life    time.Duration
		now     time.Time
		expires time.Time
	}{
		"plain":    {reason: "for as long as was set", life: 168 * time.Hour, now: day, expires: day.Add(168 * time.Hour)},
		"shorter":  {reason: "or as is asked", asked: seconds(7200), life: 168 * time.Hour, now: day, expires: day.Add(2 * time.Hour)},
		"longer":   {reason: "but not longer", asked: seconds(1 << 30), life: 168 * time.Hour, now: day, expires: day.Add(168 * time.Hour)},
		"tooShort": {reason: "and not shorter than a registration agent renews in time", asked: seconds(600), life: 168 * time.Hour, now: day, expires: day.Add(time.Hour)},
		"late":     {reason: "never longer than the CA", life: 168 * time.Hour, now: day.Add(years - 48*time.Hour), expires: day.Add(years)},
	}
	ca := authority(t, day)
	serials := map[string]bool{}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := honest()
			a.change = func(csr *certificatesv1.CertificateSigningRequest) {
				csr.CreationTimestamp, csr.Spec.ExpirationSeconds = metav1.NewTime(c.now), c.asked
			}
			csr := a.csr(t)
			text, issued, err := ca.Issue(rules.Evaluate(csr, facts, c.now), csr, c.life, c.now)
			if err != nil {
				t.Fatal(err)
			}
			is := parsed(t, text)
			if !is.NotAfter.Equal(c.expires) || !is.NotBefore.Equal(c.now.Add(-5*time.Minute)) {
				t.Errorf("%s: valid from %s to %s", c.reason, is.NotBefore, is.NotAfter)
			}
			if got := is.Subject.String(); got != "CN=c1,O=g3" {
				t.Errorf("subject is %s", got)
			}
			if !slices.Equal(is.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) || len(is.UnknownExtKeyUsage) > 0 || is.IsCA || is.CheckSignatureFrom(ca.Certificate) != nil {
				t.Errorf("usages %v, CA %t", is.ExtKeyUsage, is.IsCA)
			}
			if serials[is.SerialNumber.String()] {
				t.Error("a serial number was used twice")
			}
			serials[is.SerialNumber.String()] = true
			if issued.SHA256 != Fingerprint(is) || issued.CA != ca.ID() || issued.Generation != 3 || !issued.Expires.Equal(is.NotAfter) || !issued.At.Equal(c.now) {
				t.Errorf("record is %+v", issued)
			}
			if again, err := RecordOf(text, "u", []*x509.Certificate{ca.Certificate}); err != nil || again != issued {
				t.Errorf("record read back is %+v, %v", again, err)
			}
		})
	}
	csr := honest().csr(t)
	if _, _, err := ca.Issue(rules.Evaluate(csr, facts, day), csr, time.Hour, day.Add(years-time.Minute)); err == nil {
		t.Error("a CA at its end issued something")
	}
}
