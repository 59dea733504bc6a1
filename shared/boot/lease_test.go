// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// With the default flags, a graceful stop releases the Lease. The standby does not wait for the lease
// duration.
func TestLease_isReleasedOnStop(t *testing.T) {
	program := Program{Name: "fake", LeaseName: "released-on-stop"}
	env := &Env{Program: program, Config: config, Log: logr.Discard()}
	args := []string{"--leader-elect", "--leader-election-namespace=default", "--metrics-bind-address=0", "--health-probe-bind-address=0"}
	if err := Flags(program, &fake{}, &env.Options).Parse(args); err != nil {
		t.Fatal(err)
	}
	mgr, err := NewManager(t.Context(), env, Kinds{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: "default", Name: program.LeaseName}
	stop := testkit.Run(t, mgr)
	testkit.Eventually(t, "a leader with a Lease of 15 s", func() error {
		if err := reader.Get(t.Context(), key, &lease); err != nil {
			return err
		}
		if *lease.Spec.HolderIdentity == "" || *lease.Spec.LeaseDurationSeconds != 15 {
			return fmt.Errorf("held by %q for %d s", *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds)
		}
		return nil
	})
	<-mgr.Elected() // before that, a manager that stops releases nothing
	stop()
	if err := reader.Get(t.Context(), key, &lease); err != nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("after a stop the Lease is held by %q, %v", *lease.Spec.HolderIdentity, err)
	}
}

func TestLease_needsNamespace(t *testing.T) {
	env := &Env{Program: Program{LeaseName: "nowhere"}, Options: Options{LeaderElect: true}, Config: config, Log: logr.Discard()}
	if _, err := NewManager(t.Context(), env, Kinds{Scheme: scheme.Scheme}); err == nil || !strings.Contains(err.Error(), "--leader-election-namespace") {
		t.Errorf("%v, want an error that names the flag", err)
	}
}
