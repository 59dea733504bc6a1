// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

// restartDigest is a digest of everything that the principal reads once, at its start.
func restartDigest(bundle []byte, leaf, proxy *x509.Certificate, token []byte) string {
	hash := sha256.New()
	hash.Write([]byte(pki.BundleDigest(bundle)))
	for _, c := range []*x509.Certificate{leaf, proxy} {
		if c != nil {
			hash.Write(c.Raw)
		}
		hash.Write([]byte{0})
	}
	hash.Write(token)
	return hex.EncodeToString(hash.Sum(nil))[:32]
}

// restart replaces the principal's pods if they have read something else than is stored now. The
// cache may be behind: the same patch twice changes nothing.
func (p *pass) restart(ctx context.Context, digest string) error {
	found := p.wanted.Principal
	switch {
	case p.blocked || p.wanted.KeepPrincipalRunning || !found.Restartable || found.Certificates == digest:
		return nil
	case !p.own && found.Certificates == "":
		return nil // the principal was started with it
	case !p.note(ctx, "restart", "Deployment", p.wanted.object(found.Deployment), "its certificates have changed"):
		return nil
	}
	annotations := map[string]any{agent.CertificatesAnnotation: digest}
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}})
	if err != nil {
		return fmt.Errorf("encode patch of Deployment %s/%s: %w", p.wanted.Namespace, found.Deployment, err)
	}
	target := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: p.wanted.Namespace, Name: found.Deployment}}
	if err := p.keeper.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(fieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("restart Deployment %s/%s: %w", p.wanted.Namespace, found.Deployment, err)
	}
	return nil
}
