// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates keeps the Secrets that argocd-agent's principal needs in the
// hub's Argo CD namespace: the CA, the certificates of principal and resource proxy, and
// the key of tokens.
//
// A Secret that carries our annotation is ours: it is renewed in time and mended. Any
// other of these names is used and checked and never written; to hand one of ours over,
// take the annotation off. The CA's key is not among them: it is in gitopscluster's own
// namespace, see [KeyName]. Whatever is decided is decided by package pki from what is
// stored, so that a pass may end anywhere and the next one goes on.
//
// Keys are read when they are needed and not kept.
package certificates
