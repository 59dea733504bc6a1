// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"crypto/x509"
	"fmt"
	"slices"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func (a *argo) records(cluster string) []pki.Issued {
	a.t.Helper()
	return pki.ParseIssued(a.stored(cluster).Annotations[agent.IssuedAnnotation])
}

// recorded waits until the records of a cluster match these certificates. With a stale cache the signer
// may sign a request again without effect. It corrects the record afterwards.
func (a *argo) recorded(cluster string, issued ...*x509.Certificate) []pki.Issued {
	a.t.Helper()
	var records []pki.Issued
	testkit.Eventually(a.t, "the records of "+cluster, func() error {
		records = a.records(cluster)
		if !slices.EqualFunc(records, issued, func(i pki.Issued, c *x509.Certificate) bool { return i.SHA256 == pki.Fingerprint(c) }) {
			return fmt.Errorf("they are %+v", records)
		}
		return nil
	})
	return records
}
