// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// Every speaker meets every act: what is missing in the table is a failure.
func TestMayDelay(t *testing.T) {
	type pair struct {
		speaker Speaker
		act     Act
	}
	want := map[pair]bool{
		{OnApplication, Deliver}: true, {OnApplication, Withdraw}: true, {OnApplication, Revoke}: false,
		{OnApplicationSet, Deliver}: true, {OnApplicationSet, Withdraw}: true, {OnApplicationSet, Revoke}: false,
		{OnNamespace, Deliver}: true, {OnNamespace, Withdraw}: true, {OnNamespace, Revoke}: true,
		{OnHubNamespace, Deliver}: true, {OnHubNamespace, Withdraw}: true, {OnHubNamespace, Revoke}: true,
		{OnManagedCluster, Deliver}: true, {OnManagedCluster, Withdraw}: false, {OnManagedCluster, Revoke}: false,
		{OnClusterClaim, Deliver}: true, {OnClusterClaim, Withdraw}: false, {OnClusterClaim, Revoke}: false,
	}
	for s := OnApplication; s <= OnClusterClaim; s++ {
		for a := Deliver; a <= Revoke; a++ {
			may, listed := want[pair{s, a}]
			if got := MayDelay(s, a); !listed || got != may {
				t.Errorf("speaker %d, act %d: got %t, want %t (in the table: %t)", s, a, got, may, listed)
			}
		}
	}
}

func TestActOf(t *testing.T) {
	for reason, want := range map[string]Act{
		ReasonNotBound: Revoke, ReasonProjectDenied: Revoke, ReasonNamespaceDenied: Revoke, ReasonLocalCluster: Revoke,
		ReasonDeleting: Withdraw, ReasonTurnedOff: Withdraw, ReasonUnknownCluster: Withdraw, ReasonClusterLeaving: Withdraw, ReasonInvalidLabel: Withdraw, "Retargeted": Withdraw,
	} {
		if got := ActOf(reason); got != want {
			t.Errorf("%s: got %d, want %d", reason, got, want)
		}
	}
}
