// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
)

// maxDigests bounds what is remembered of clusters that are long gone.
const maxDigests = 20_000

// digests remembers the digest of each cluster's config, which takes a signature to find out.
type digests struct {
	mu    sync.Mutex
	known map[string]digest
}

type digest struct {
	inputs, value string
	until         time.Time
}

// proxy returns how to make the config of a cluster's Secret, and its digest.
func (k *Keeper) proxy(namespace string, a pki.Authorities, state State) (config func(string) ([]byte, string, error), digestOf func(string) (string, error)) {
	config = func(cluster string) ([]byte, string, error) {
		if a.Signing == nil {
			return nil, "", fmt.Errorf("make the config of cluster %s: %w", cluster, ErrNoSigner)
		}
		pair, until, err := a.Signing.ProxyClient(cluster, k.now())
		if err != nil {
			return nil, "", err
		}
		text, err := json.Marshal(map[string]any{"tlsClientConfig": map[string][]byte{"caData": state.CABundle, "certData": pair.Certificate, "keyData": pair.Key}})
		if err != nil {
			return nil, "", fmt.Errorf("encode the config of cluster %s: %w", cluster, err)
		}
		sum := sha256.Sum256(text)
		value := hex.EncodeToString(sum[:])
		k.digests.put(namespace+"/"+cluster, digest{inputs: state.SigningCA + state.BundleDigest, value: value, until: until})
		return text, value, nil
	}
	digestOf = func(cluster string) (string, error) {
		if value, ok := k.digests.get(namespace+"/"+cluster, state.SigningCA+state.BundleDigest, k.now()); ok {
			return value, nil
		}
		_, value, err := config(cluster)
		return value, err
	}
	return config, digestOf
}

func (d *digests) get(key, inputs string, now time.Time) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.known[key]
	return found.value, ok && found.inputs == inputs && now.Before(found.until)
}

func (d *digests) put(key string, value digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDigests {
		d.known = map[string]digest{}
	}
	d.known[key] = value
}
