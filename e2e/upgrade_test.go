// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// previousPropagation is the environment variable with the path of an earlier propagation. Without it, the
// tests exchange two builds of this checkout.
const previousPropagation = "PREVIOUS_PROPAGATION"

// The managed cluster runs an operation of the hub once, although another build of propagation takes over
// during the operation. After the operation the first build takes over again.
func TestUpgrade_runsAnOperationOnce(t *testing.T) {
	restoreBuild(t)
	syncOnce(t, "upgrade-sync", exchangeBuild)
}

// An operation that runs on the managed cluster during an upgrade of the hub continues unchanged, and the hub
// can still terminate it.
func TestUpgrade_keepsARunningOperation(t *testing.T) {
	apps, before := map[string]*argocd.Application{}, map[string]operation{}
	for _, c := range fleet.Managed {
		a := stuck(t, "upgrade-stuck-"+c.Name, c.Name)
		apps[c.Name], before[c.Name] = a, operationOf(t, c.Name, a.Name)
	}
	downgradeAndUpgrade(t)
	awaitOthers(t, "upgrade-stuck")
	for cluster, a := range apps {
		if after := operationOf(t, cluster, a.Name); after != before[cluster] {
			t.Errorf("the operation of %s was %v and is %v", a.Name, before[cluster], after)
		}
		if hub, _ := view.Application("hub", a.Name); hub.Phase != argocd.OperationRunning {
			t.Errorf("the operation of %s runs, and the hub says %s", a.Name, hub)
		}
		patch(t, a, terminating)
	}
	for cluster, a := range apps {
		awaitPhase(t, cluster, a.Name, argocd.OperationFailed)
		awaitPhase(t, "hub", a.Name, argocd.OperationFailed)
	}
}

// downgradeAndUpgrade changes both replicas of propagation to the previous build, and back to the build of
// this checkout.
func downgradeAndUpgrade(t *testing.T) {
	t.Helper()
	restoreBuild(t)
	exchangeBuild(t)
	exchangeBuild(t)
}

// exchangeBuild changes propagation to the other of the two builds like a rolling update: each replica is
// ready before the next one ends.
func exchangeBuild(t *testing.T) {
	t.Helper()
	previous, err := previousBuild()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range propagation(t) {
		next := previous
		if p.Binary() == previous {
			next = thisBuild()
		}
		if err := startAs(t.Context(), p, next); err != nil {
			t.Fatal(err)
		}
	}
}

// restoreBuild starts propagation with the build of this checkout when the test has ended, however it ends.
func restoreBuild(t *testing.T) {
	t.Helper()
	afterwards(t, "restore propagation", func(ctx context.Context) error {
		for _, p := range propagation(t) {
			if p.Binary() == thisBuild() {
				continue
			}
			if err := startAs(ctx, p, thisBuild()); err != nil {
				return err
			}
		}
		return nil
	})
}

func startAs(ctx context.Context, p *env.Process, binary string) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return errors.Join(p.StartAs(ctx, binary), p.AwaitReady(ctx))
}

func thisBuild() string { return filepath.Join(testkit.Root(), "bin", "product", env.Propagation) }

// previousBuild returns the path of the build to upgrade from.
var previousBuild = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(previousPropagation); path != "" {
		return filepath.Abs(path)
	}
	target := filepath.Join(fleet.Processes.Folder(), "previous", env.Propagation)
	cmd := exec.CommandContext(fleet.Processes.Context(), "go", "build", "-o", target,
		"-ldflags=-s -w -X open-cluster-management.io/multicluster-integrations/shared/boot.Revision=previous", ".")
	cmd.Dir = filepath.Join(testkit.Root(), env.Propagation)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the previous propagation: %w\n%s", err, out)
	}
	return target, nil
})
