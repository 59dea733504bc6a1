// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

var hosts = []string{"principal.example.com", "10.0.0.1", "argocd-agent-principal.argocd.svc"}

func TestServerDue(t *testing.T) {
	ca := authority(t, day)
	pair, err := ca.IssueServer("argocd-agent-principal-tls", hosts, day)
	if err != nil {
		t.Fatal(err)
	}
	is := parsed(t, pair.Certificate)
	if !is.NotAfter.Equal(day.Add(90*24*time.Hour)) || !slices.Equal(is.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) || is.IsCA {
		t.Errorf("until %s, usages %v", is.NotAfter, is.ExtKeyUsage)
	}
	later, other := authority(t, day), slices.Clone(hosts)
	slices.Reverse(other)
	due := map[string]struct {
		by    *Authority
		names []string
		at    time.Time
		want  bool
	}{
		"as it is":     {ca, hosts, day, false},
		"other order":  {ca, other, day, false},
		"before 70 %":  {ca, hosts, day.Add(62 * 24 * time.Hour), false},
		"after 70 %":   {ca, hosts, day.Add(64 * 24 * time.Hour), true},
		"name more":    {ca, append(slices.Clone(hosts), "x.example.com"), day, true},
		"name less":    {ca, hosts[1:], day, false},
		"address less": {ca, slices.Concat(hosts[:1], hosts[2:]), day, false},
		"other CA":     {later, hosts, day, true},
	}
	for name, c := range due {
		if got := c.by.ServerDue(is, c.names, c.at); got != c.want {
			t.Errorf("%s: due is %t", name, got)
		}
	}
	if end := parsed(t, mustIssue(t, ca, day.Add(years-time.Hour)).Certificate).NotAfter; !end.Equal(ca.Certificate.NotAfter) {
		t.Errorf("it outlives its CA: until %s", end)
	}
}

func mustIssue(t *testing.T, a *Authority, now time.Time) Pair {
	t.Helper()
	pair, err := a.IssueServer("p", hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestCheckServer(t *testing.T) {
	ca, other := authority(t, day), authority(t, day)
	good, stranger := mustIssue(t, ca, day), mustIssue(t, other, day)
	client, _, err := ca.ProxyClient("c1", day)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		pair  Pair
		names []string
		at    time.Time
		want  string
	}{
		"good":         {good, hosts, day, ""},
		"no name":      {good, append(slices.Clone(hosts), "new.example.com"), day, ReasonNames},
		"no PEM":       {Pair{[]byte("x"), good.Key}, hosts, day, ReasonBroken},
		"empty":        {Pair{nil, good.Key}, hosts, day, ReasonBroken},
		"key in it":    {Pair{slices.Concat(good.Certificate, good.Key), good.Key}, hosts, day, ReasonBroken},
		"no key":       {Pair{good.Certificate, nil}, hosts, day, ReasonBroken},
		"other key":    {Pair{good.Certificate, stranger.Key}, hosts, day, ReasonBroken},
		"other CA":     {stranger, hosts, day, ReasonNotTrusted},
		"for clients":  {client, nil, day, ReasonNotTrusted},
		"expiring":     {good, hosts, day.Add(84 * 24 * time.Hour), ReasonExpiring},
		"expired":      {good, hosts, day.Add(91 * 24 * time.Hour), ReasonExpired},
		"not yet":      {good, hosts, day.Add(-time.Hour), ReasonExpired},
		"a flood":      {Pair{bytes.Repeat(good.Certificate, 40), good.Key}, hosts, day, ReasonBroken},
		"a large text": {Pair{bytes.Repeat([]byte(" "), maxPEM+1), good.Key}, hosts, day, ReasonBroken},
	}
	for name, c := range cases {
		_, got := CheckServer(c.pair, []*x509.Certificate{ca.Certificate}, c.names, c.at)
		if (got == nil) != (c.want == "") || got != nil && (got.Reason != c.want || got.Text == "") {
			t.Errorf("%s: %+v", name, got)
		}
		if got != nil && strings.Contains(got.Text, "PRIVATE") {
			t.Errorf("%s: a key is in %q", name, got.Text)
		}
	}
}

// A renewal in time is before the deadline, and the deadline is before the certificate's end.
func TestRenewalDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		life, renewed, left time.Duration
	}{
		"CA of five years":               {years, years * 8 / 10, expiringBefore},
		"server, of 90 days":             {LeafLife, leafRenewal, expiringBefore},
		"client, of a week":              {7 * 24 * time.Hour, 7 * 24 * time.Hour * 8 / 10, 7 * 24 * time.Hour / 10},
		"client of the shortest allowed": {time.Hour, time.Hour*8/10 + 5*time.Minute, 6 * time.Minute},
	} {
		deadline := RenewalDeadline(day, day.Add(c.life))
		if left := day.Add(c.life).Sub(deadline); left != c.left || !day.Add(c.renewed).Before(deadline) {
			t.Errorf("%s: %s before its end, renewed %s before", name, left, c.life-c.renewed)
		}
	}
}

func TestCheckAuthority(t *testing.T) {
	ca := authority(t, day)
	if f := CheckAuthority(ca.Certificate, day); f != nil {
		t.Errorf("%+v", f)
	}
	if f := CheckAuthority(ca.Certificate, day.Add(years-6*24*time.Hour)); f == nil || f.Reason != ReasonExpiring {
		t.Errorf("a week before its end: %+v", f)
	}
	if f := CheckAuthority(ca.Certificate, day.Add(years+time.Hour)); f == nil || f.Reason != ReasonExpired {
		t.Errorf("after its end: %+v", f)
	}
	if f := CheckAuthority(parsed(t, mustIssue(t, ca, day).Certificate), day); f == nil || f.Reason != ReasonForeignCA {
		t.Errorf("no CA: %+v", f)
	}
}

// ProxyClient stores nothing and returns the same certificate again, so a restart writes nothing.
func TestProxyClient_isRepeatable(t *testing.T) {
	ca := authority(t, day)
	pair, err := ca.Encode()
	if err != nil {
		t.Fatal(err)
	}
	restarted, err := ParseAuthority(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	one, until, err := ca.ProxyClient("c1", day)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{"at once": day, "to the end": until.Add(-time.Second)} {
		again, _, err := restarted.ProxyClient("c1", at)
		if err != nil || !bytes.Equal(again.Certificate, one.Certificate) || !bytes.Equal(again.Key, one.Key) {
			t.Errorf("%s: it is another, %v", name, err)
		}
	}
	is := parsed(t, one.Certificate)
	if is.Subject.String() != "CN=c1,O=resource-proxy" || !slices.Equal(is.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) || is.CheckSignatureFrom(ca.Certificate) != nil {
		t.Errorf("subject %s, usages %v", is.Subject, is.ExtKeyUsage)
	}
	if !until.After(day) || until.After(is.NotAfter.Add(-26*24*time.Hour)) || is.NotBefore.After(day) {
		t.Errorf("renewed at %s, valid from %s to %s", until, is.NotBefore, is.NotAfter)
	}
	for name, other := range map[string]func() (Pair, time.Time, error){
		"renewed":       func() (Pair, time.Time, error) { return ca.ProxyClient("c1", until) },
		"other cluster": func() (Pair, time.Time, error) { return ca.ProxyClient("c2", day) },
		"other CA":      func() (Pair, time.Time, error) { return authority(t, day).ProxyClient("c1", day) },
	} {
		got, _, err := other()
		if err != nil || bytes.Equal(got.Key, one.Key) || bytes.Equal(got.Certificate, one.Certificate) {
			t.Errorf("%s: it is the same, %v", name, err)
		}
	}
	key, err := ParseKey(one.Key)
	if err != nil || !sameKey(is, key) {
		t.Errorf("its key is not its own: %v", err)
	}
}

// Another client's CA may have an RSA key.
func TestProxyClient_acceptsAnRSAKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "theirs"}, NotBefore: day, NotAfter: day.Add(years), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	ca, err := ParseAuthority(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), text)
	if err != nil {
		t.Fatal(err)
	}
	one, _, err := ca.ProxyClient("c1", day)
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := ca.ProxyClient("c1", day.Add(time.Second))
	if err != nil || !bytes.Equal(one.Certificate, two.Certificate) || !bytes.Equal(one.Key, two.Key) {
		t.Errorf("it is another, %v", err)
	}
}

func TestCheckTokenKey(t *testing.T) {
	good, err := NewTokenKey()
	if err != nil {
		t.Fatal(err)
	}
	if f := CheckTokenKey(good); f != nil {
		t.Errorf("%+v", f)
	}
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	of, _ := encodeKey(ec)
	small, _ := encodeKey(weak)
	block, _ := pem.Decode(good)
	key, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
	for name, text := range map[string][]byte{
		"nothing": nil, "text": []byte("secret"), "EC": of, "1024 bits": small,
		"PKCS 1": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key.(*rsa.PrivateKey))}),
	} {
		if f := CheckTokenKey(text); f == nil || f.Reason != ReasonBroken {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestBundle(t *testing.T) {
	a, b := authority(t, day), authority(t, day.Add(time.Hour))
	one := EncodeCertificates(Bundle(b.Certificate, a.Certificate, b.Certificate)...)
	if two := EncodeCertificates(Bundle(a.Certificate, b.Certificate)...); !bytes.Equal(one, two) {
		t.Error("the order of the CAs is not of their own")
	}
	reversed := EncodeCertificates(b.Certificate, a.Certificate)
	if BundleDigest(one) != BundleDigest(reversed) || BundleDigest(one) == BundleDigest(EncodeCertificates(a.Certificate)) {
		t.Error("the digest is not of the CAs alone")
	}
	if a.Certificate.Subject.String() == b.Certificate.Subject.String() {
		t.Error("two CAs have one name")
	}
}
