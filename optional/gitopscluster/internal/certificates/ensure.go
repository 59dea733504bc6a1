// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

// Ensure creates and updates the Secrets, and restarts the principal if it has to read them again.
// An error means that something could not be read or written. The state has the problems of the
// Secrets.
func (k *Keeper) Ensure(ctx context.Context, facts Facts) (State, error) {
	var writes []Write
	for range 4 { // at most one pass for each step of a CA change, and one without changes
		p := &pass{keeper: k, wanted: facts, now: k.now(), state: State{After: checkInterval}, key: client.ObjectKey{Namespace: k.keys, Name: KeyName(facts.Namespace)}}
		again, err := p.run(ctx)
		writes = append(writes, p.state.Writes...)
		p.state.Writes = writes
		if err != nil || !again {
			return p.state, err
		}
	}
	return State{}, fmt.Errorf("certificates of %s: a change of the CA does not come to an end", facts.Namespace)
}

// run returns true after a step of a CA change, because everything has to be checked again.
func (p *pass) run(ctx context.Context) (again bool, err error) {
	authorities, secret, err := p.authorities(ctx)
	if err != nil {
		return false, err
	}
	token, err := p.token(ctx)
	if err != nil || authorities == nil {
		return false, err
	}
	leaf, err := p.server(ctx, leafName, authorities, p.wanted.principalNames())
	if err != nil {
		return false, err
	}
	proxy, err := p.server(ctx, proxyName, authorities, p.wanted.proxyNames())
	if err != nil {
		return false, err
	}
	p.fill(authorities)
	digest := restartDigest(p.state.CABundle, leaf, proxy, token)
	if err := p.restart(ctx, digest); err != nil {
		return false, err
	}
	if secret == nil || !isOwn(secret) || authorities.Signing == nil || p.wanted.DryRun {
		return false, nil
	}
	return p.rotate(ctx, *authorities, secret, leaf, proxy, digest)
}

// fill sets the fields of the state about the CA.
func (p *pass) fill(a *pki.Authorities) {
	p.state.CABundle = a.Bundle()
	p.state.BundleDigest = pki.BundleDigest(p.state.CABundle)
	p.state.SigningReady = a.Signing != nil
	for _, c := range a.Trusted {
		p.state.TrustedCAs = append(p.state.TrustedCAs, pki.ID(c))
	}
	if a.Signing != nil {
		p.state.SigningCA = a.Signing.ID()
		p.checkAt(pki.AuthorityDue(a.Signing.Certificate))
	}
	clients := proxyClients{
		namespace: p.wanted.Namespace, authorities: *a, bundle: p.state.CABundle,
		inputs: p.state.SigningCA + p.state.BundleDigest, digests: p.keeper.digests, now: p.keeper.now,
	}
	p.state.ProxyConfig, p.state.ProxyDigest = clients.config, clients.digest
}
