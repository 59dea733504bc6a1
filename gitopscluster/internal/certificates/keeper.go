// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Names of the Secrets, which argocd-agent gives them.
const (
	caName    = "argocd-agent-ca"
	leafName  = "argocd-agent-principal-tls"
	proxyName = "argocd-agent-resource-proxy-tls"
	tokenName = "argocd-agent-jwt" //nolint:gosec // a name
)

var names = []string{caName, leafName, proxyName, tokenName}

// Keys of their data; nextCertificate and nextKey are ours, the principal ignores them.
const (
	trusted         = "ca.crt"
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	tokenKey        = "jwt.key"
)

// rotatedAnnotation on the CA's Secret holds what a new CA was last asked for with.
const rotatedAnnotation = contract.KeyPrefix + "rotated-ca"

// Times of the next look, which is taken when nothing happens before.
const (
	nextLook    = 10 * time.Minute
	waitingLook = 20 * time.Second
	// patience is how long a change of the CA may take before it is a problem.
	patience = time.Hour
)

const fieldOwner = "multicluster-integrations-certificates"

// DefaultCALife is how long a CA is valid.
const DefaultCALife = 5 * 365 * 24 * time.Hour

// ErrNoSigner says that there is no CA that can sign.
var ErrNoSigner = errors.New("there is no CA with a key")

// Secrets are granted in the Argo CD namespaces only, by a Role.
// +kubebuilder:rbac:groups="",resources=secrets,namespace=argocd,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,namespace=argocd,resourceNames=argocd-agent-principal;openshift-gitops-agent-principal,verbs=patch

// Options of [New].
type Options struct {
	// CALife of a new CA, 0: [DefaultCALife].
	CALife time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Keeper keeps the Secrets.
type Keeper struct {
	client client.Client
	// live reads past the cache, which holds no Secret of these.
	live    client.Reader
	life    time.Duration
	now     func() time.Time
	digests digests
}

// New returns a keeper that writes with c and reads with live.
func New(c client.Client, live client.Reader, options Options) *Keeper {
	k := &Keeper{client: c, live: live, life: options.CALife, now: options.Now}
	if k.life == 0 {
		k.life = DefaultCALife
	}
	if k.now == nil {
		k.now = time.Now
	}
	return k
}

// Wanted is what [Keeper.Ensure] depends on.
type Wanted struct {
	Namespace string
	Principal principal.Found
	// Reports are of all clusters with an agent of this Argo CD. Without them a change
	// of the CA would leave clusters behind.
	Reports []pki.Report
	// Incomplete is set while not all of them are known: the CA is not changed then.
	Incomplete bool
	// KeepPrincipalRunning leaves it to somebody else to restart the principal.
	KeepPrincipalRunning bool
	// RotateCA asks for a new CA whenever it has another text than the last time.
	RotateCA string
	// DryRun has everything computed and nothing written.
	DryRun bool
}

// Write is a change that is to be made, or was.
type Write struct{ Verb, Kind, Namespace, Name, Why string }

// State is what the Secrets are like.
type State struct {
	// CABundle are the CAs that agents have to trust, PEM; empty while there is none.
	CABundle []byte
	// BundleDigest of CABundle, see [pki.BundleDigest].
	BundleDigest string
	// SigningCA is the [pki.ID] of the CA that signs.
	SigningCA    string
	SigningReady bool
	// ProxyConfig returns the config of a cluster's Secret for the resource proxy: the
	// same bytes, with the same digest, until they are due for renewal.
	ProxyConfig func(cluster string) (config []byte, digest string, err error)
	// ProxyDigest returns that digest alone, and is cheap.
	ProxyDigest func(cluster string) (digest string, err error)
	Problems    []principal.Problem
	// NextLook is when to look again if nothing happens.
	NextLook time.Duration
	// Writes are those that were made, or of a dry run those that are to be made.
	Writes []Write
}

// Ensure makes the Secrets what they have to be, and restarts the principal when it has
// to read them anew. An error means that something could not be read or written; what
// is wrong with the Secrets is in the state.
func (k *Keeper) Ensure(ctx context.Context, wanted Wanted) (State, error) {
	var writes []Write
	for range 4 { // at most: a pass for each step of a change of the CA, and one that finds nothing to do
		p := &pass{keeper: k, wanted: wanted, now: k.now(), state: State{NextLook: nextLook}}
		again, err := p.run(ctx)
		writes = append(writes, p.state.Writes...)
		p.state.Writes = writes
		if err != nil || !again {
			return p.state, err
		}
	}
	return State{}, fmt.Errorf("certificates of %s: a change of the CA does not come to an end", wanted.Namespace)
}

// pass is one look at everything.
type pass struct {
	keeper *Keeper
	wanted Wanted
	now    time.Time
	state  State
	// own is set when at least one of the Secrets is ours.
	own bool
	// blocked is set when the principal had better not be restarted.
	blocked bool
}

// run returns true when a step of a change of the CA was taken, so that everything has
// to be looked at again.
func (p *pass) run(ctx context.Context) (again bool, err error) {
	authorities, secret, err := p.authorities(ctx)
	if err != nil {
		return false, err
	}
	token, err := p.token(ctx)
	if err != nil || authorities == nil {
		return false, err
	}
	leaf, err := p.server(ctx, leafName, authorities, p.principalNames())
	if err != nil {
		return false, err
	}
	proxy, err := p.server(ctx, proxyName, authorities, p.proxyNames())
	if err != nil {
		return false, err
	}
	p.fill(authorities)
	digest := restartDigest(p.state.CABundle, leaf, proxy, token)
	if err := p.restart(ctx, digest); err != nil {
		return false, err
	}
	if secret == nil || !isOwn(secret) || authorities.Signing == nil || p.wanted.DryRun || p.wanted.Incomplete {
		return false, nil
	}
	return p.rotate(ctx, *authorities, secret, leaf, proxy, digest)
}

// fill says what others need to know of the CA.
func (p *pass) fill(a *pki.Authorities) {
	p.state.CABundle = a.Bundle()
	p.state.BundleDigest = pki.BundleDigest(p.state.CABundle)
	p.state.SigningReady = a.Signing != nil
	if a.Signing != nil {
		p.state.SigningCA = a.Signing.ID()
		p.lookAt(pki.AuthorityDue(a.Signing.Certificate))
	}
	p.state.ProxyConfig, p.state.ProxyDigest = p.keeper.proxy(p.wanted.Namespace, *a, p.state)
}

// lookAt has the next look taken no later than at a time.
func (p *pass) lookAt(when time.Time) {
	p.state.NextLook = min(p.state.NextLook, max(when.Sub(p.now), time.Second))
}

func isOwn(secret *corev1.Secret) bool {
	return secret.Annotations[contract.RegisteredByAnnotation] == contract.RegisteredBy
}
