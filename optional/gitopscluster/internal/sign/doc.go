// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sign approves and signs what the registration agents of managed clusters ask
// for on behalf of argocd-agent: client certificates of one signer, which nothing else
// signs for.
//
// Who asks is what counts, not what the request says about itself. Package pki decides;
// a certificate is on record before it is issued, so that what may be in use is always
// known.
package sign
