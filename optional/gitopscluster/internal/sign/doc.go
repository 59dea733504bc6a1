// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sign approves and signs requests that the registration agents of managed clusters make for argocd-agent.
// The requests are for client certificates of one signer. No other program signs for this signer.
//
// The requester counts, and not the content of the request. Package pki decides. A certificate is recorded before it
// is issued, so that every certificate that may be in use is known.
package sign
