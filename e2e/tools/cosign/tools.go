// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package cosign pins what signs releases, and verifies them in tests.
package cosign

import _ "github.com/sigstore/cosign/v3/cmd/cosign"
