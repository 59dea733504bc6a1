// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/utils/lru"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

// maxDigests limits the number of digests, because digests of deleted clusters stay.
const maxDigests = 20_000

// digest is the digest of a cluster's config. Computing it needs a signature.
type digest struct {
	inputs, value string
	until         time.Time
}

// proxyClients makes the configs by which the hub's Argo CD reaches clusters through the
// resource proxy of one namespace.
type proxyClients struct {
	namespace   string
	authorities pki.Authorities
	// bundle has the CAs to trust. inputs are the values that a config depends on in addition to
	// its cluster.
	bundle  []byte
	inputs  string
	digests *lru.Cache
	now     func() time.Time
}

// config returns the config of a cluster, with its digest.
func (p proxyClients) config(cluster string) ([]byte, string, error) {
	if p.authorities.Signing == nil {
		return nil, "", fmt.Errorf("make the config of cluster %s: %w", cluster, ErrNoSigner)
	}
	pair, until, err := p.authorities.Signing.ProxyClient(cluster, p.now())
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(map[string]any{"tlsClientConfig": map[string][]byte{"caData": p.bundle, "certData": pair.Certificate, "keyData": pair.Key}})
	if err != nil {
		return nil, "", fmt.Errorf("encode the config of cluster %s: %w", cluster, err)
	}
	sum := sha256.Sum256(text)
	value := hex.EncodeToString(sum[:])
	p.digests.Add(p.namespace+"/"+cluster, digest{inputs: p.inputs, value: value, until: until})
	return text, value, nil
}

// digest returns the digest of a cluster's config.
func (p proxyClients) digest(cluster string) (string, error) {
	if cached, ok := p.digests.Get(p.namespace + "/" + cluster); ok {
		if d, ok := cached.(digest); ok && d.inputs == p.inputs && p.now().Before(d.until) {
			return d.value, nil
		}
	}
	_, value, err := p.config(cluster)
	return value, err
}
