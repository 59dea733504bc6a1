// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// rootsModule is the module with the certificates.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

const rootsNotice = "/" + RootsPath + ` holds root certificates of Mozilla's store, as the Go module
` + rootsModule + ` packs them. Mozilla's list is under the Mozilla Public License 2.0,
https://mozilla.org/MPL/2.0/; its source: https://hg.mozilla.org/projects/nss/raw-file/tip/lib/ckfw/builtins/certdata.txt
`

// Roots returns the root certificates of Mozilla's store in PEM. It leaves out roots that are
// trusted only for older certificates. PEM cannot express that, and a reader would trust them for
// all.
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
		return nil, fmt.Errorf("%s holds no root certificate", rootsModule)
	}
	return out.Bytes(), nil
}
