// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// RootsModule is the module that the certificates are from.
const RootsModule = "golang.org/x/crypto/x509roots/fallback"

// Roots returns the root certificates of Mozilla's store, in PEM. A root that is
// trusted for older certificates only is left out, since PEM cannot say so and a
// reader would trust it for all.
func Roots() ([]byte, error) {
	var out bytes.Buffer
	count := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("encode a root certificate: %w", err)
		}
		count++
	}
	if count == 0 {
		return nil, fmt.Errorf("%s holds no root certificate", RootsModule)
	}
	return out.Bytes(), nil
}
