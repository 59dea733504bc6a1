// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the names of the Secrets, as argocd-agent defines them.
const (
	caName    = "argocd-agent-ca"
	leafName  = "argocd-agent-principal-tls"
	proxyName = "argocd-agent-resource-proxy-tls"
	tokenName = "argocd-agent-jwt" //nolint:gosec // a name
)

var names = []string{caName, leafName, proxyName, tokenName}

// DefaultKeyNamespace is where gitopscluster runs unless it is installed elsewhere.
const DefaultKeyNamespace = "multicluster-integrations"

// KeyName returns the name of the Secret with the CA of an Argo CD and its key. It is in
// gitopscluster's own namespace, because everything in the principal's namespace can read every
// Secret there.
func KeyName(namespace string) string { return caName + "-" + namespace }

// These are the keys of their data. Only the Secret with the CA's key has nextCertificate and
// nextKey.
const (
	trusted         = "ca.crt"
	nextCertificate = "next.crt"
	nextKey         = "next.key"
	tokenKey        = "jwt.key"
)

// rotatedAnnotation on the Secret with the CA's key holds the value that last requested a new CA.
const rotatedAnnotation = contract.KeyPrefix + "rotated-ca"

const fieldOwner = "multicluster-integrations-certificates"

// ErrNoSigner means that no CA can sign.
var ErrNoSigner = errors.New("there is no CA with a key")

func isOwn(secret *corev1.Secret) bool {
	return secret.Annotations[contract.RegisteredByAnnotation] == contract.RegisteredBy
}

// get returns a Secret, or nil.
func get(ctx context.Context, reader client.Reader, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get Secret %s/%s: %w", namespace, name, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // it does not exist, which is not an error
	}
	return secret, nil
}
