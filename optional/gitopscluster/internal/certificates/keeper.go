// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
)

// DefaultCALife is how long a CA is valid.
const DefaultCALife = 5 * 365 * 24 * time.Hour

// Secrets are granted in the Argo CD namespaces only, by a Role.
// +kubebuilder:rbac:groups="",resources=secrets,namespace=argocd,verbs=get;list;watch;create;patch;delete
// The CA's key is in gitopscluster's own namespace. A Role cannot limit create by name.
// +kubebuilder:rbac:groups="",resources=secrets,namespace=multicluster-integrations,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,namespace=multicluster-integrations,resourceNames=argocd-agent-ca-argocd,verbs=get;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,namespace=argocd,resourceNames=argocd-agent-principal;openshift-gitops-agent-principal,verbs=patch

// Options are the options of [New].
type Options struct {
	// CALife is the lifetime of a new CA. 0 means [DefaultCALife].
	CALife time.Duration
	// KeyNamespace is where the CAs' keys are, empty: [DefaultKeyNamespace].
	KeyNamespace string
	// Now is the clock.
	Now func() time.Time
}

// Keeper keeps the Secrets.
type Keeper struct {
	client client.Client
	// live reads past the cache, which holds no Secret of these.
	live    client.Reader
	keys    string
	life    time.Duration
	now     func() time.Time
	digests *lru.Cache
}

// New returns a keeper that writes with c and reads with live.
func New(c client.Client, live client.Reader, options Options) *Keeper {
	k := &Keeper{client: c, live: live, keys: cmp.Or(options.KeyNamespace, DefaultKeyNamespace), life: options.CALife, now: options.Now, digests: lru.New(maxDigests)}
	if k.life == 0 {
		k.life = DefaultCALife
	}
	if k.now == nil {
		k.now = time.Now
	}
	return k
}

// Facts are the input of [Keeper.Ensure].
type Facts struct {
	Namespace string
	Principal principal.Found
	// Reports are of all clusters with an agent of this Argo CD. Without them a change
	// of the CA would leave clusters behind.
	Reports []pki.Report
	// Secrets has the digest of the config in each cluster Secret of ours.
	Secrets map[string]string
	// KeepPrincipalRunning leaves the restart of the principal to its owner.
	KeepPrincipalRunning bool
	// RotateCA are the values that request a new CA, sorted. A value that was missing the last time
	// requests a new CA.
	RotateCA []string
	// DryRun has everything computed and nothing written.
	DryRun bool
}

// object returns the key of an object in the principal's namespace.
func (w Facts) object(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: name}
}

// principalNames and proxyNames return the names in the certificates. They never return an empty
// list.
func (w Facts) principalNames() []string {
	return nonEmpty(w.Principal.Names, "argocd-agent-principal."+w.Namespace+".svc")
}

func (w Facts) proxyNames() []string {
	return nonEmpty(w.Principal.ProxyNames, "argocd-agent-resource-proxy."+w.Namespace+".svc")
}

func nonEmpty(names []string, otherwise string) []string {
	if len(names) == 0 {
		return []string{otherwise}
	}
	return slices.Clone(names)
}

// Write is a change that is to be made, or was.
type Write struct{ Verb, Kind, Namespace, Name, Why string }

// State describes the Secrets.
type State struct {
	// CABundle are the CAs that agents have to trust, as PEM, or empty.
	CABundle []byte
	// BundleDigest is the [pki.BundleDigest] of CABundle.
	BundleDigest string
	// SigningCA is the [pki.ID] of the CA that signs.
	SigningCA string
	// TrustedCAs are the CAs of CABundle by [pki.ID].
	TrustedCAs   []string
	SigningReady bool
	// ProxyConfig returns the config of a cluster's Secret for the resource proxy: the
	// same bytes, with the same digest, until they are due for renewal.
	ProxyConfig func(cluster string) (config []byte, digest string, err error)
	// ProxyDigest returns that digest alone, and is cheap.
	ProxyDigest func(cluster string) (digest string, err error)
	Problems    []principal.Problem
	// After is the delay until the next pass without an event.
	After time.Duration
	// Writes are those that were made, or of a dry run those that are to be made.
	Writes []Write
}
