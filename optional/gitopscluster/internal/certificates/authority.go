// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

// Load returns the CA of a namespace. Its key is in the namespace keys, or in [DefaultKeyNamespace]
// if that is empty. The error is [ErrNoSigner] if the CA cannot sign.
func Load(ctx context.Context, live client.Reader, namespace, keys string) (pki.Authorities, error) {
	secret, err := get(ctx, live, cmp.Or(keys, DefaultKeyNamespace), KeyName(namespace))
	if err == nil && secret == nil { // the CA of another client has its key in the same namespace
		secret, err = get(ctx, live, namespace, caName)
	}
	if err != nil {
		return pki.Authorities{}, err
	}
	if secret == nil {
		return pki.Authorities{}, fmt.Errorf("read Secret %s/%s: %w", namespace, caName, ErrNoSigner)
	}
	authorities, err := parse(secret)
	if err == nil && authorities.Signing == nil {
		err = ErrNoSigner
	}
	if err != nil {
		return authorities, fmt.Errorf("read Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return authorities, nil
}

// parse parses a stored CA. Signing is nil if the Secret has no key.
func parse(secret *corev1.Secret) (pki.Authorities, error) {
	certificates, err := pki.ParseCertificates(secret.Data[corev1.TLSCertKey])
	if err != nil {
		return pki.Authorities{}, fmt.Errorf("tls.crt: %w", err)
	}
	if text := secret.Data[trusted]; len(text) > 0 {
		more, err := pki.ParseCertificates(text)
		if err != nil {
			return pki.Authorities{}, fmt.Errorf("ca.crt: %w", err)
		}
		certificates = append(certificates, more...)
	}
	found := pki.Authorities{}
	if text := secret.Data[nextCertificate]; isOwn(secret) && len(text) > 0 {
		if found.Next, err = pki.ParseAuthority(text, secret.Data[nextKey]); err != nil {
			return pki.Authorities{}, fmt.Errorf("%s: %w", nextCertificate, err)
		}
		certificates = append(certificates, found.Next.Certificate)
	}
	found.Trusted = pki.Bundle(certificates...)
	if key := secret.Data[corev1.TLSPrivateKeyKey]; len(key) > 0 {
		if found.Signing, err = pki.ParseAuthority(secret.Data[corev1.TLSCertKey], key); err != nil {
			return pki.Authorities{}, fmt.Errorf("tls.key: %w", err)
		}
	}
	return found, nil
}

// authorities returns the CA and its Secret, or nil if no CA is usable. The Secret with the key
// counts. The one next to the principal shows its certificates, and may be the only one for a CA of
// another client.
func (p *pass) authorities(ctx context.Context) (*pki.Authorities, *corev1.Secret, error) {
	shown, err := get(ctx, p.keeper.live, p.wanted.Namespace, caName)
	if err != nil {
		return nil, nil, err
	}
	kept, err := get(ctx, p.keeper.live, p.key.Namespace, p.key.Name)
	if apierrors.IsForbidden(err) {
		p.problem(pki.ReasonNoKey, "gitopscluster may not read Secret %s, where the key of the CA is; copy Role and RoleBinding multicluster-integrations-gitopscluster-agent of namespace %s for it", p.key, p.key.Namespace)
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	secret := cmp.Or(kept, shown)
	if secret == nil {
		made, err := p.makeAuthority(ctx)
		return made, nil, err
	}
	p.own = p.own || isOwn(secret) || shown != nil && isOwn(shown)
	found, err := parse(secret)
	if err != nil {
		p.fault(secret, &pki.Fault{Reason: pki.ReasonBroken, Text: err.Error()})
		return nil, nil, nil //nolint:nilerr // a problem of the Secret, which is reported as one
	}
	p.checkKey(kept, shown, found)
	if shown != nil {
		p.checkType(shown)
	}
	if !p.checkAuthorities(secret, found) {
		return nil, nil, nil
	}
	if kept != nil {
		err = p.show(ctx, shown, found)
	}
	return &found, secret, err
}

// checkKey reports a CA without a key, and one with its key next to the principal.
func (p *pass) checkKey(kept, shown *corev1.Secret, found pki.Authorities) {
	switch {
	case found.Signing == nil:
		p.fault(cmp.Or(kept, shown), &pki.Fault{Reason: pki.ReasonNoKey, Text: fmt.Sprintf("there is no key in it, and no Secret %s, so that nothing can be signed", p.key)})
	case kept == nil:
		p.state.Problems = append(p.state.Problems, principal.Problem{Warning: true, Reason: ReasonKeyExposed, Message: fmt.Sprintf(
			"the key of the CA is in Secret %s/%s, which the principal and Argo CD can read; put a new CA with its key into Secret %s, since this key may have been read", shown.Namespace, shown.Name, p.key)})
	}
}

// show writes the certificates of the CA, and no key, into the Secret next to the principal. The
// Secret keeps its type, which is immutable and requires a tls.key.
func (p *pass) show(ctx context.Context, shown *corev1.Secret, a pki.Authorities) error {
	data := map[string][]byte{corev1.TLSCertKey: a.Bundle(), corev1.TLSPrivateKeyKey: {}, trusted: a.Bundle()}
	if a.Signing != nil {
		data[corev1.TLSCertKey] = pki.EncodeCertificates(a.Signing.Certificate)
	}
	switch {
	case shown == nil:
		return p.create(ctx, p.wanted.object(caName), corev1.SecretTypeTLS, data, nil, "principal and agents have to trust the CA")
	case isOwn(shown):
		if maps.EqualFunc(shown.Data, data, bytes.Equal) {
			return nil
		}
		return p.patch(ctx, shown, data, nil, "it does not show the CA's certificates alone")
	}
	existing, err := parse(shown)
	if err != nil {
		p.fault(shown, &pki.Fault{Reason: pki.ReasonBroken, Text: err.Error()})
		return nil //nolint:nilerr // a problem of the Secret, which is reported as one
	}
	for _, c := range a.Trusted {
		if !slices.ContainsFunc(existing.Trusted, c.Equal) {
			p.fault(shown, &pki.Fault{Reason: pki.ReasonNotTrusted, Text: fmt.Sprintf("it lacks the certificate of the CA in Secret %s", p.key)})
			return nil
		}
	}
	return nil
}

// checkAuthorities reports problems of the trusted CAs. It returns false if the signing CA cannot be
// used.
func (p *pass) checkAuthorities(secret *corev1.Secret, found pki.Authorities) bool {
	usable := len(found.Trusted) > 0
	for _, c := range found.Trusted {
		signs := found.Signing == nil && len(found.Trusted) == 1 || found.Signing != nil && c.Equal(found.Signing.Certificate)
		fault := pki.CheckAuthority(c, p.now)
		if signs {
			p.measure("ca", c)
		}
		switch {
		case fault == nil || isOwn(secret) && fault.Reason == pki.ReasonExpiring && !signs:
			continue
		case signs && fault.Reason != pki.ReasonExpiring:
			usable = false
		case !signs && fault.Reason == pki.ReasonExpired:
			continue // nothing trusts it any more
		}
		p.fault(secret, fault)
	}
	return usable
}

func (p *pass) makeAuthority(ctx context.Context) (*pki.Authorities, error) {
	made, err := pki.NewAuthority(p.now, p.keeper.life)
	if err != nil {
		return nil, err
	}
	found := &pki.Authorities{Signing: made, Trusted: []*x509.Certificate{made.Certificate}}
	data, err := encode(*found)
	if err != nil {
		return nil, err
	}
	p.own = true
	annotations := map[string]string{}
	if len(p.wanted.RotateCA) > 0 {
		annotations[rotatedAnnotation] = strings.Join(p.wanted.RotateCA, ",") // it is new already
	}
	if err := p.create(ctx, p.key, corev1.SecretTypeTLS, data, annotations, "there is no CA for argocd-agent"); err != nil {
		return nil, err
	}
	return found, p.show(ctx, nil, *found)
}

// encode is the inverse of [parse].
func encode(a pki.Authorities) (map[string][]byte, error) {
	signing, err := a.Signing.Encode()
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{corev1.TLSCertKey: signing.Certificate, corev1.TLSPrivateKeyKey: signing.Key, trusted: a.Bundle()}
	if a.Next != nil {
		next, err := a.Next.Encode()
		if err != nil {
			return nil, err
		}
		data[nextCertificate], data[nextKey] = next.Certificate, next.Key
	}
	return data, nil
}

// requested reports whether a value requests a new CA: the value is not among the values of the
// present CA. A removed value requests nothing.
func (p *pass) requested(secret *corev1.Secret) bool {
	former := "," + secret.Annotations[rotatedAnnotation] + ","
	return slices.ContainsFunc(p.wanted.RotateCA, func(value string) bool { return !strings.Contains(former, ","+value+",") })
}

// reports compares the clusters' Secrets with their desired configs.
func (p *pass) reports() ([]pki.Report, error) {
	all := slices.Clone(p.wanted.Reports)
	for i := range all {
		digest := p.wanted.Secrets[all[i].Cluster]
		if digest == "" {
			continue // a Secret without a config of ours may have any config
		}
		present, err := p.state.ProxyDigest(all[i].Cluster)
		if err != nil {
			return nil, err
		}
		all[i].SecretCurrent = strings.TrimPrefix(digest, "sha256:") == present
	}
	return all, nil
}

// rotate takes the next step of a change of the CA, if it may be taken, and returns
// whether it did.
func (p *pass) rotate(ctx context.Context, is pki.Authorities, secret *corev1.Secret, leaf, proxy *x509.Certificate, digest string) (bool, error) {
	requested := p.requested(secret)
	reports, err := p.reports()
	if err != nil {
		return false, err
	}
	facts := pki.Facts{
		Now: p.now, Life: p.keeper.life, Requested: requested, Reports: reports,
		PrincipalRuns: p.wanted.Principal.Current && p.wanted.Principal.Certificates == digest,
	}
	for _, server := range []*x509.Certificate{leaf, proxy} {
		if server != nil {
			facts.Servers = append(facts.Servers, server)
		}
	}
	next, step, waiting, err := pki.Advance(is, facts)
	if err != nil {
		return false, err
	}
	if step == pki.NoStep {
		p.waits(is, waiting, digest)
		return false, nil
	}
	data, err := encode(next)
	if err != nil {
		return false, err
	}
	annotations := map[string]string{}
	if step == pki.Trust && requested {
		annotations[rotatedAnnotation] = strings.Join(p.wanted.RotateCA, ",")
	}
	if err := p.patch(ctx, secret, data, annotations, string(step)); err != nil {
		return false, err
	}
	return true, nil
}
