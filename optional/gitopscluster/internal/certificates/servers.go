// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/x509"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

// server creates or renews the certificate of principal or resource proxy. It returns the present
// one, or nil if none can be read.
func (p *pass) server(ctx context.Context, name string, a *pki.Authorities, hosts []string) (*x509.Certificate, error) {
	secret, err := get(ctx, p.keeper.live, p.wanted.Namespace, name)
	if err != nil {
		return nil, err
	}
	if secret == nil {
		return p.issue(ctx, nil, name, a, hosts, "there is none")
	}
	p.own = p.own || isOwn(secret)
	if isOwn(secret) && secret.Type != corev1.SecretTypeTLS {
		p.checkType(secret) // the type of a Secret cannot be changed
		return nil, nil
	}
	pair := pki.Pair{Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	certificate, fault := pki.CheckServer(pair, a.Trusted, hosts, p.now)
	if isOwn(secret) && a.Signing != nil {
		broken := fault != nil && fault.Reason != pki.ReasonExpiring
		if certificate == nil || broken || a.Signing.ServerDue(certificate, hosts, p.now) {
			if certificate != nil && p.now.Before(pki.RenewAt(certificate)) { // an address may be back soon
				hosts = slices.Compact(slices.Sorted(slices.Values(append(pki.NamesOf(certificate), hosts...))))
			}
			return p.issue(ctx, secret, name, a, hosts, why(certificate, fault, a, p))
		}
		p.checkAt(pki.RenewAt(certificate))
		p.measure(name, certificate)
		return certificate, nil
	}
	p.checkType(secret)
	if fault != nil {
		p.fault(secret, fault)
	}
	if certificate != nil {
		p.measure(name, certificate)
	}
	return certificate, nil
}

// why returns the reason of a new certificate.
func why(certificate *x509.Certificate, fault *pki.Fault, a *pki.Authorities, p *pass) string {
	switch {
	case fault != nil:
		return fault.Text
	case certificate.CheckSignatureFrom(a.Signing.Certificate) != nil:
		return "another CA signs now"
	case p.now.After(pki.RenewAt(certificate)):
		return "70 % of its life is over"
	}
	return "it lacks a name"
}

// issue creates a certificate and stores it. It creates none without a signing CA, which another
// client has to provide.
func (p *pass) issue(ctx context.Context, secret *corev1.Secret, name string, a *pki.Authorities, hosts []string, why string) (*x509.Certificate, error) {
	if a.Signing == nil {
		p.problem(pki.ReasonNoKey, "gitopscluster cannot make Secret %s/%s, since no key of a CA is there; add it as tls.key to Secret %s, or make that certificate yourself",
			p.wanted.Namespace, name, p.key)
		p.blocked = true
		return nil, nil
	}
	pair, err := a.Signing.IssueServer(name, hosts, p.now)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}
	if secret == nil {
		p.own = true
		err = p.create(ctx, p.wanted.object(name), corev1.SecretTypeTLS, data, nil, why)
	} else {
		err = p.patch(ctx, secret, data, nil, why)
	}
	if err != nil {
		return nil, err
	}
	made, err := pki.ParseCertificates(pair.Certificate)
	if err != nil {
		return nil, err
	}
	p.checkAt(pki.RenewAt(made[0]))
	if !p.wanted.DryRun { // else it is not stored
		p.measure(name, made[0])
	}
	return made[0], nil
}

// token makes or checks the key of tokens and returns it.
func (p *pass) token(ctx context.Context) ([]byte, error) {
	secret, err := get(ctx, p.keeper.live, p.wanted.Namespace, tokenName)
	if err != nil {
		return nil, err
	}
	if secret != nil {
		p.own = p.own || isOwn(secret)
		fault := pki.CheckTokenKey(secret.Data[tokenKey])
		if fault == nil {
			return secret.Data[tokenKey], nil
		}
		if !isOwn(secret) {
			p.fault(secret, fault)
			return secret.Data[tokenKey], nil
		}
	}
	key, err := pki.NewTokenKey()
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{tokenKey: key}
	if secret == nil {
		p.own = true
		return key, p.create(ctx, p.wanted.object(tokenName), corev1.SecretTypeOpaque, data, nil, "the principal has no key for its tokens")
	}
	return key, p.patch(ctx, secret, data, nil, "the key of tokens cannot be used")
}
