// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// newClaim returns an identity that no other request has, with a hash of each request:
// "operation+refresh-<identity>-<hash>+<hash>". The resource version represents the time of the
// first observation.
func newClaim(app *argocd.Application, kinds []string) string {
	hashes := make([]string, len(kinds))
	for i, kind := range kinds {
		hashes[i] = shortHash(contentOf(app, kind))
	}
	return strings.Join(kinds, "+") + "-" + shortHash(string(app.UID)+"/"+app.ResourceVersion) + "-" + strings.Join(hashes, "+")
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:5])
}

func kindsOf(claim string) []string {
	kinds, _, _ := strings.Cut(claim, "-")
	return strings.Split(kinds, "+")
}

// unchanged compares a claim with the hub. same lists the kinds that the hub still has as claimed.
// gone has the kinds that the hub does not have any more. A claim without hashes, of an earlier
// version, counts as unchanged.
func unchanged(app *argocd.Application, claim string) (same []string, gone map[string]bool) {
	var hashes []string
	if parts := strings.Split(claim, "-"); len(parts) > 2 {
		hashes = strings.Split(parts[2], "+")
	}
	gone = map[string]bool{}
	for i, kind := range kindsOf(claim) {
		content := contentOf(app, kind)
		switch {
		case content == "":
			gone[kind] = true
		case i >= len(hashes) || hashes[i] == shortHash(content):
			same = append(same, kind)
		}
	}
	return same, gone
}

// ClaimMessage returns the message of the condition. Its first word is the claim.
func ClaimMessage(claim, cluster string) string {
	return fmt.Sprintf("%s was sent to cluster %q; propagation removes it from this Application when the cluster has run it", claim, cluster)
}

// ClaimOf returns the claim from an Application's conditions, or "", and when it was made, in whole
// seconds.
func ClaimOf(conditions []appstatus.Condition) (claim string, made time.Time) {
	for _, c := range conditions {
		if c.Type == ClaimCondition {
			claim, _, _ = strings.Cut(c.Message, " ")
			if c.LastTransitionTime != nil {
				made = c.LastTransitionTime.Time
			}
			return claim, made
		}
	}
	return "", time.Time{}
}
