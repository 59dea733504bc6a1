// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki decides about keys and certificates of argocd-agent: makes the CA, what it
// issues and the key of tokens, checks what others made, says whether a request of a
// managed cluster is signed, and which step a change of the CA may take next.
//
// It is pure: it reads no clock and no cluster. Only random numbers come from outside.
package pki
