// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reasons for which a certificate or key is not as it has to be.
const (
	ReasonBroken     = "CertificateBroken"
	ReasonExpired    = "CertificateExpired"
	ReasonExpiring   = "CertificateExpiring"
	ReasonNotTrusted = "CertificateNotTrusted"
	ReasonNames      = "CertificateNamesMissing"
	ReasonForeignCA  = "ForeignCA"
	ReasonNoKey      = "NoSigningKey"
)

// expiringBefore is how long before the end a missing renewal is reported.
const expiringBefore = 7 * 24 * time.Hour

// Fault is a problem of a certificate or key.
type Fault struct{ Reason, Text string }

func fault(reason, format string, args ...any) *Fault {
	return &Fault{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// CheckServer checks a server's certificate. names are the names that clients use. The certificate
// is returned unless it is broken.
func CheckServer(pair Pair, trusted []*x509.Certificate, names []string, now time.Time) (*x509.Certificate, *Fault) {
	chain, err := ParseCertificates(pair.Certificate)
	if err != nil {
		return nil, fault(ReasonBroken, "tls.crt cannot be read: %v", err)
	}
	key, err := ParseKey(pair.Key)
	if err != nil {
		return nil, fault(ReasonBroken, "tls.key cannot be read: %v", err)
	}
	leaf := chain[0]
	if !sameKey(leaf, key) {
		return nil, fault(ReasonBroken, "tls.key is not the key of the first certificate in tls.crt")
	}
	if f := checkTime(leaf, now); f != nil && f.Reason == ReasonExpired {
		return leaf, f
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range trusted {
		roots.AddCert(c)
	}
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if _, err := leaf.Verify(options); err != nil {
		return leaf, fault(ReasonNotTrusted, "no CA that is trusted vouches for it: %v", err)
	}
	if missing := MissingNames(leaf, names); len(missing) > 0 {
		return leaf, fault(ReasonNames, "it does not name %s", strings.Join(missing, ", "))
	}
	return leaf, checkTime(leaf, now)
}

// MissingNames returns which of names, host names and addresses, a certificate lacks.
func MissingNames(certificate *x509.Certificate, names []string) []string {
	var missing []string
	for _, name := range names {
		if certificate.VerifyHostname(name) != nil {
			missing = append(missing, name)
		}
	}
	return missing
}

func checkTime(c *x509.Certificate, now time.Time) *Fault {
	switch {
	case now.After(c.NotAfter):
		return fault(ReasonExpired, "it expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fault(ReasonExpired, "it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	case now.Add(expiringBefore).After(c.NotAfter):
		return fault(ReasonExpiring, "it expires at %s", c.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// ServerDue reports whether a certificate of ours has to be replaced. It has to be if another CA
// signs now, a name is missing, or 70 % of its lifetime are over. An additional name is dropped at
// the renewal, because an address may be missing for a moment only.
func (a *Authority) ServerDue(certificate *x509.Certificate, names []string, now time.Time) bool {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return certificate.CheckSignatureFrom(a.Certificate) != nil ||
		len(MissingNames(certificate, names)) > 0 ||
		now.After(RenewAt(certificate)) || life <= 0
}

// RenewAt returns when a certificate of ours is renewed.
func RenewAt(certificate *x509.Certificate) time.Time {
	return certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) * 7 / 10)
}

// RenewalDeadline returns until when a certificate has to be renewed. The deadline is a week before
// its end, or when a tenth of its lifetime is left if that is shorter. The renewal starts much
// earlier.
func RenewalDeadline(from, until time.Time) time.Time {
	return until.Add(-min(expiringBefore, until.Sub(from)/10))
}

// NamesOf returns the host names and addresses of a certificate.
func NamesOf(certificate *x509.Certificate) []string {
	names := slices.Clone(certificate.DNSNames)
	for _, address := range certificate.IPAddresses {
		names = append(names, address.String())
	}
	return names
}

// CheckAuthority checks a CA that vouches for others.
func CheckAuthority(certificate *x509.Certificate, now time.Time) *Fault {
	if !certificate.BasicConstraintsValid || !certificate.IsCA {
		return fault(ReasonForeignCA, "%q is not the certificate of a CA", bounded(certificate.Subject.String()))
	}
	if certificate.KeyUsage != 0 && certificate.KeyUsage&x509.KeyUsageCertSign == 0 {
		return fault(ReasonForeignCA, "%q may not sign certificates", bounded(certificate.Subject.String()))
	}
	return checkTime(certificate, now)
}

// CheckTokenKey checks the key of the principal's tokens, which reads PKCS #8 with RSA only.
func CheckTokenKey(text []byte) *Fault {
	block, _ := pem.Decode(text[:min(len(text), maxPEM)])
	if block == nil {
		return fault(ReasonBroken, "jwt.key is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return fault(ReasonBroken, "jwt.key is no private key in PKCS #8, the only form that the principal reads")
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return fault(ReasonBroken, "jwt.key is not RSA, the only kind that the principal reads")
	}
	if private.N.BitLen() < 2048 {
		return fault(ReasonBroken, "jwt.key has %d bits, less than 2048", private.N.BitLen())
	}
	return nil
}

// bounded shortens text of other writers, for messages.
func bounded(text string) string {
	if len(text) > 128 {
		return text[:125] + "..."
	}
	return text
}
