// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

// These are reasons in addition to the reasons of package pki.
const (
	ReasonWrongType = "WrongSecretType"
	ReasonWaiting   = "RotationWaiting"
	// ReasonKeyExposed means that the principal can read the CA's key.
	ReasonKeyExposed = "SigningKeyExposed"
)

const namedClusters = 5

func (p *pass) problem(reason, format string, args ...any) {
	p.state.Problems = append(p.state.Problems, principal.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// fault reports the problem of a Secret with its remedy.
func (p *pass) fault(secret *corev1.Secret, f *pki.Fault) {
	name := secret.Namespace + "/" + secret.Name
	remedy := "it is not written by gitopscluster: replace it, or delete it so that gitopscluster makes one"
	switch {
	case f.Reason == pki.ReasonNoKey && !isOwn(secret):
		remedy = fmt.Sprintf("put the CA with its key into Secret %s, or delete this one so that gitopscluster makes a CA", p.key)
	case f.Reason == pki.ReasonNoKey:
		remedy = "restore that Secret, or delete this one so that gitopscluster makes a CA; every agent is without connection until it trusts that one"
	case isOwn(secret) && f.Reason == pki.ReasonExpiring:
		remedy = "gitopscluster makes the next one in time"
	case isOwn(secret) && name == p.key.String():
		remedy = fmt.Sprintf("restore it from a backup; without one delete it and Secret %s of Argo CD's namespace, and gitopscluster makes a CA; every agent is without connection until it has that one", caName)
	case isOwn(secret):
		remedy = "delete it so that gitopscluster makes a new one; every agent is without connection until it has the new CA"
	}
	switch f.Reason {
	case pki.ReasonExpiring, pki.ReasonNoKey, pki.ReasonNames:
	default:
		p.blocked = true
	}
	p.problem(f.Reason, "gitopscluster cannot rely on Secret %s: %s; %s", name, f.Text, remedy)
}

// checkType names a type with which the principal refuses a Secret.
func (p *pass) checkType(secret *corev1.Secret) {
	if secret.Type == corev1.SecretTypeTLS {
		return
	}
	p.blocked = true
	p.problem(ReasonWrongType, "the principal refuses Secret %s/%s, since its type is %s; delete it and create it with type %s, or leave it to gitopscluster to make one",
		secret.Namespace, secret.Name, secret.Type, corev1.SecretTypeTLS)
}

// waits reports the wait of a change of the CA. A short wait is not a problem.
func (p *pass) waits(is pki.Authorities, waiting pki.Waiting, digest string) {
	if waiting.Empty() {
		return
	}
	p.state.After = min(p.state.After, waitingInterval)
	var reasons []string
	if waiting.Principal {
		reasons = append(reasons, p.principalWaits(digest))
	}
	if n := len(waiting.Clusters); n > 0 {
		reasons = append(reasons, fmt.Sprintf("it waits for %d clusters (%s): mend their agents, or take them out of the Placement; generators of ApplicationSets then delete their Applications",
			n, strings.Join(waiting.Clusters[:min(n, namedClusters)], ", ")))
	}
	began := is.Signing.Certificate.NotBefore
	if is.Next != nil {
		began = is.Next.Certificate.NotBefore
	}
	p.state.Problems = append(p.state.Problems, principal.Problem{
		Reason: ReasonWaiting, Warning: p.now.Before(began.Add(patience)),
		Message: fmt.Sprintf("a new CA is on its way in namespace %s; next step: %s; %s", p.wanted.Namespace, waiting.Step, strings.Join(reasons, "; ")),
	})
}

func (p *pass) principalWaits(digest string) string {
	name := p.wanted.Principal.Deployment
	switch {
	case name == "":
		return "it waits for the principal, whose Deployment is not in that namespace"
	case p.wanted.KeepPrincipalRunning || !p.wanted.Principal.Restartable:
		return fmt.Sprintf("it waits for the principal: restart Deployment %s with annotation %s: %q in its pod template", name, agent.CertificatesAnnotation, digest)
	}
	return fmt.Sprintf("it waits for the pods of Deployment %s to be of its present template and available, and for its certificates to be of the new CA", name)
}
