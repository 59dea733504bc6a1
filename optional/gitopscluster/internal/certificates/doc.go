// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates keeps the Secrets that argocd-agent's principal needs in the hub's Argo CD namespace. They
// hold the CA, the certificates of principal and resource proxy, and the key of tokens.
//
// A Secret with our annotation is ours: it is renewed in time and repaired. Any other Secret of these names is used
// and checked, and never written. To hand a Secret of ours over, remove the annotation. The CA's key is in
// gitopscluster's own namespace (see [KeyName]). Package pki decides everything from the stored Secrets, so that a
// pass may stop anywhere and the next pass continues. Keys are read when they are needed, and not kept.
package certificates
