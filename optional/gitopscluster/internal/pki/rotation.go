// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"slices"
	"time"
)

const (
	// longestWait is how long a change of the CA also waits for agents that are not connected while their
	// cluster is available. They may just be restarting.
	longestWait = 10 * time.Minute
)

// Report is the state of one cluster with an agent.
type Report struct {
	Cluster string
	// Reachable is set while the cluster is available, Connected while its agent
	// runs as delivered and is connected to the principal.
	Reachable, Connected bool
	// Bundle is the [BundleDigest] of the CAs that its agent trusts, empty when unknown.
	Bundle string
	// Generation is the generation that its add-on requests, or 0.
	Generation int
	// Issued are the records of its client certificates, the newest last.
	Issued []Issued
	// Holds is the fingerprint of the certificate that the cluster has, empty when unknown.
	Holds string
	// Started is true if the agent was started with that certificate. Connected alone may be
	// about the certificate before it.
	Started bool
	// Stuck is true if its request can never be signed, so that it has to send another one.
	Stuck bool
	// Full is true while its registration agent sends no request, because the hub has too many.
	// With a raised generation it would delete its key, and get no other one.
	Full bool
	// Since is since when its add-on requests this generation, as far as that is known.
	Since time.Time
	// SecretCurrent is true if the hub's Argo CD uses the present client certificate of the
	// resource proxy for it, or none of ours.
	SecretCurrent bool
}

func (r Report) newest() (Issued, bool) {
	if len(r.Issued) == 0 {
		return Issued{}, false
	}
	return r.Issued[len(r.Issued)-1], true
}

// runs reports whether the agent runs with a certificate of a CA and the generation
// that is asked for. Its registration agent may have made several requests, and need not
// hold the newest one.
func (r Report) runs(ca string) bool {
	return r.Connected && r.Started && slices.ContainsFunc(r.Issued, func(i Issued) bool {
		return i.SHA256 == r.Holds && i.CA == ca && i.Generation == r.Generation
	})
}

// recent reports whether a cluster may still be on its way to the certificate that its add-on
// asks for.
func (r Report) recent(now time.Time) bool {
	began := r.Since
	if newest, issued := r.newest(); issued && newest.Generation == r.Generation {
		began = newest.At
	}
	return began.IsZero() || now.Before(began.Add(longestWait))
}

// hasOwn reports whether a certificate of the generation that is requested was issued.
func (r Report) hasOwn() bool {
	newest, issued := r.newest()
	return issued && newest.Generation == r.Generation
}

// refused reports whether that certificate is of a CA that is not trusted any more.
func (r Report) refused(ca string, trusted []string) bool {
	newest, _ := r.newest()
	return r.hasOwn() && newest.CA != ca && !slices.Contains(trusted, newest.CA)
}

// uses reports whether the agent may use a valid certificate of another CA.
func (r Report) uses(ca string, now time.Time) bool {
	return !r.runs(ca) && slices.ContainsFunc(r.Issued, func(i Issued) bool { return i.CA != ca && now.Before(i.Expires) })
}

// Authorities is the stored state of the CA.
type Authorities struct {
	Signing *Authority
	// Next is trusted already and will sign.
	Next *Authority
	// Trusted are all CAs that agents and principal trust.
	Trusted []*x509.Certificate
}

// Bundle returns the CAs that are trusted as PEM.
func (a Authorities) Bundle() []byte { return EncodeCertificates(Bundle(a.Trusted...)...) }

// former returns the CAs that are trusted still though they sign no longer.
func (a Authorities) former() []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(a.Trusted), func(c *x509.Certificate) bool {
		return c.Equal(a.Signing.Certificate) || a.Next != nil && c.Equal(a.Next.Certificate)
	})
}

// Step is a step of a change of the CA. The stored state after each step is sufficient for the next
// step.
type Step string

// Steps.
const (
	NoStep Step = ""
	// Trust makes everything trust the CA that will sign.
	Trust Step = "trust the new CA"
	// Switch makes that CA sign, and replaces all issued certificates.
	Switch Step = "sign with the new CA"
	// Drop ends the trust in the former CA.
	Drop Step = "stop trusting the former CA"
)

// Facts are the input of a change of the CA.
type Facts struct {
	Now time.Time
	// Life is the lifetime of a new CA.
	Life time.Duration
	// Requested is true if an annotation requests a new CA early.
	Requested bool
	// PrincipalRuns is set when the principal runs with everything that is stored.
	PrincipalRuns bool
	// Servers are the certificates of principal and resource proxy.
	Servers []*x509.Certificate
	Reports []Report
}

// Waiting names the objects that a step waits for.
type Waiting struct {
	Step Step
	// Principal is set when it waits for the principal, or its certificates.
	Principal bool
	// Clusters are those that it waits for.
	Clusters []string
}

// Empty reports whether nothing is waited for.
func (w Waiting) Empty() bool { return !w.Principal && len(w.Clusters) == 0 }

// AuthorityDue is when a CA is replaced without a request.
func AuthorityDue(certificate *x509.Certificate) time.Time {
	return certificate.NotBefore.Add(certificate.NotAfter.Sub(certificate.NotBefore) * 8 / 10)
}

// Advance returns the state to store after the next step, or the step that waits.
func Advance(is Authorities, facts Facts) (Authorities, Step, Waiting, error) {
	switch {
	case is.Next != nil:
		waiting := waitToSwitch(is, facts)
		if !waiting.Empty() {
			return is, NoStep, waiting, nil
		}
		return Authorities{Signing: is.Next, Trusted: is.Trusted}, Switch, Waiting{}, nil
	case len(is.former()) > 0:
		waiting := waitToDrop(is, facts)
		if !waiting.Empty() {
			return is, NoStep, waiting, nil
		}
		return Authorities{Signing: is.Signing, Trusted: []*x509.Certificate{is.Signing.Certificate}}, Drop, Waiting{}, nil
	case facts.Requested || !facts.Now.Before(AuthorityDue(is.Signing.Certificate)):
		next, err := NewAuthority(facts.Now, facts.Life)
		if err != nil {
			return is, NoStep, Waiting{}, err
		}
		return Authorities{Signing: is.Signing, Next: next, Trusted: Bundle(is.Signing.Certificate, next.Certificate)}, Trust, Waiting{}, nil
	}
	return is, NoStep, Waiting{}, nil
}

// waitToSwitch names the parties that would refuse a certificate of the new CA. An agent may refuse
// the principal, a cluster Secret may refuse the resource proxy, and the principal may refuse
// agents.
func waitToSwitch(is Authorities, facts Facts) Waiting {
	waiting := Waiting{Step: Switch, Principal: !facts.PrincipalRuns}
	digest := BundleDigest(is.Bundle())
	young := facts.Now.Before(is.Next.Certificate.NotBefore.Add(skew + longestWait))
	for _, r := range facts.Reports {
		if r.Generation > 0 && (!r.SecretCurrent || r.Bundle != digest && (r.Connected || young && r.Reachable)) {
			waiting.Clusters = append(waiting.Clusters, r.Cluster)
		}
	}
	return waiting
}

// waitToDrop names who still shows a certificate of a former CA.
func waitToDrop(is Authorities, facts Facts) Waiting {
	waiting := Waiting{Step: Drop, Principal: !facts.PrincipalRuns}
	for _, server := range facts.Servers {
		if server.CheckSignatureFrom(is.Signing.Certificate) != nil {
			waiting.Principal = true
		}
	}
	for _, r := range facts.Reports {
		if r.uses(is.Signing.ID(), facts.Now) || r.Generation > 0 && !r.SecretCurrent {
			waiting.Clusters = append(waiting.Clusters, r.Cluster)
		}
	}
	return waiting
}

// replaces reports whether the agent is about to run its newest certificate, and can be reached.
func (r *Report) replaces(newest int, ca string, now time.Time) bool {
	return r.Reachable && !r.runs(ca) && (newest != r.Generation || len(r.Issued) > 1) && r.recent(now)
}

// Generations returns the generation of its certificate that each cluster has to request. It is the present
// generation, or the next generation if the agent needs another certificate. The agent needs another certificate if
// another CA signs now, or if the request is stuck. It also needs one if a CA that is not trusted any more has
// signed its certificate, or if an annotation requests at least another generation.
//
// At most limit clusters change at a time. An agent is disconnected for a moment while its certificate is replaced,
// and for longer if the new certificate has a problem. Unreachable clusters get no new generation and do not delay
// others. A cluster that does not return delays them for ten minutes.
func Generations(reports []Report, ca string, trusted []string, atLeast, limit int, now time.Time) map[string]int {
	desired := make(map[string]int, len(reports))
	var outdated []Report
	underway := 0
	for _, r := range reports {
		desired[r.Cluster] = max(r.Generation, 1)
		newest, issued := r.newest()
		switch {
		case r.Generation == 0:
			desired[r.Cluster] = max(atLeast, 1)
		case r.Full:
		case r.Stuck || r.refused(ca, trusted):
			desired[r.Cluster] = max(r.Generation+1, atLeast)
		case r.hasOwn() && (newest.CA != ca || r.Generation < atLeast):
			outdated = append(outdated, r)
		case issued && r.replaces(newest.Generation, ca, now):
			underway++
		}
	}
	for _, r := range outdated {
		if underway < max(limit, 1) && r.Connected {
			desired[r.Cluster] = max(r.Generation+1, atLeast)
			underway++
		}
	}
	return desired
}
