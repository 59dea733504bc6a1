// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki decides about keys and certificates of argocd-agent. It creates the CA, the certificates that the CA
// issues and the key of tokens. It checks keys and certificates that others have created. It decides whether a
// request of a managed cluster is signed, and which step a change of the CA may take next.
//
// It is pure, except for random numbers, which the caller provides.
package pki
