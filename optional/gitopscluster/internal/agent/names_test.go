// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestGeneration(t *testing.T) {
	for _, n := range []int{1, 2, 10, 1 << 30} {
		if got, ok := Generation(Group(n)); !ok || got != n {
			t.Errorf("generation %d became %q and then %d, %t", n, Group(n), got, ok)
		}
	}
	for _, group := range []string{"", "g", "1", "g0", "g-1", "g01", "g+1", "g1 ", "G1", "gg1", "g1,g2", "g99999999999999999999"} {
		if n, ok := Generation(group); ok {
			t.Errorf("group %q became generation %d", group, n)
		}
	}
}

// The registration agent derives the Secret's name from the names of the add-on and the signer.
func TestNames_areValid(t *testing.T) {
	if want := AddOnName + "-" + strings.ReplaceAll(SignerName, "/", "-") + "-client-cert"; ClientSecretName != want {
		t.Errorf("the client certificate's Secret is %s, want %s", ClientSecretName, want)
	}
	for _, name := range []string{AddOnName, WorkName, LeavingWorkName, ClientSecretName, DeploymentName, SettingsName} {
		if errs := validation.IsDNS1123Subdomain(name); errs != nil {
			t.Errorf("%s: %v", name, errs)
		}
	}
	for _, key := range []string{OwnedLabel, OwnerAnnotation, ArgoNamespaceAnnotation, IssuedAnnotation, CertificatesAnnotation} {
		if errs := validation.IsQualifiedName(key); errs != nil {
			t.Errorf("%s: %v", key, errs)
		}
	}
}
