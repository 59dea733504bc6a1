// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Issued is the record of a client certificate that was issued to a cluster.
type Issued struct {
	// SHA256 is the [Fingerprint] of the certificate.
	SHA256 string `json:"sha256"`
	// CA is the [ID] of the CA that signed it.
	CA         string    `json:"ca"`
	Generation int       `json:"generation"`
	At         time.Time `json:"issued"`
	Expires    time.Time `json:"expires"`
	// Request is the UID of the CertificateSigningRequest.
	Request string `json:"request"`
}

// These are limits of records.
const (
	// newestRecords is how many records are kept, whichever CA has signed them. A record of a
	// former CA is kept in addition.
	newestRecords = 5
	keptRecords   = newestRecords + 1
	maxRecords    = 4 << 10
)

func record(certificate *x509.Certificate, generation int, ca, request string) Issued {
	return Issued{
		SHA256: Fingerprint(certificate), CA: ca, Generation: generation, Request: request,
		At: certificate.NotBefore.Add(skew).UTC(), Expires: certificate.NotAfter.UTC(),
	}
}

// RecordOf is the record of a certificate that a request already has. Its CA is one of trusted.
func RecordOf(text []byte, request string, trusted []*x509.Certificate) (Issued, error) {
	chain, err := ParseCertificates(text)
	if err != nil {
		return Issued{}, err
	}
	generation, ok := generationOf(chain[0].Subject)
	if !ok {
		return Issued{}, fmt.Errorf("subject %q names no generation", bounded(chain[0].Subject.String()))
	}
	i := slices.IndexFunc(trusted, func(ca *x509.Certificate) bool { return chain[0].CheckSignatureFrom(ca) == nil })
	if i < 0 {
		return Issued{}, fmt.Errorf("no trusted CA issued it")
	}
	return record(chain[0], generation, ID(trusted[i]), request), nil
}

// ParseIssued reads the records of a cluster, the newest last. A value that cannot be read has no
// records.
func ParseIssued(value string) []Issued {
	var found []Issued
	if len(value) > maxRecords || json.Unmarshal([]byte(value), &found) != nil {
		return nil
	}
	return found[max(0, len(found)-keptRecords):]
}

// AddIssued returns the records with one more. A request has one certificate, so an earlier record
// of the same request is about a certificate that was never published.
func AddIssued(value string, added Issued) (string, error) {
	records := slices.DeleteFunc(ParseIssued(value), func(i Issued) bool { return i.Request == added.Request })
	records = append(records, added)
	// The order is total, because a record that is added later must not replace another.
	slices.SortFunc(records, func(a, b Issued) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.SHA256, b.SHA256))
	})
	text, err := json.Marshal(kept(records))
	if err != nil {
		return "", fmt.Errorf("encode records of certificates: %w", err)
	}
	return string(text), nil
}

// kept returns the newest records, and the newest one of another CA. A registration agent may send
// several requests at once, and the certificate with which its agent still runs must stay on
// record.
func kept(records []Issued) []Issued {
	first := max(0, len(records)-newestRecords)
	newest := records[first:]
	signing := newest[len(newest)-1].CA
	for i := first - 1; i >= 0 && newest[0].CA == signing; i-- {
		if records[i].CA != signing {
			return append([]Issued{records[i]}, newest...)
		}
	}
	return newest
}
