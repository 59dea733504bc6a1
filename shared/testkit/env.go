// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is how long each part of the control plane may take to start.
const patience = 2 * time.Minute

// assetsVariable is the environment variable with the folder where envtest searches for programs
// first.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Start starts kube-apiserver and etcd from KUBEBUILDER_ASSETS, else from the repository's bin
// folder, and installs the CRDs of the hub: Argo CD's, Open Cluster Management's and ours. It
// returns an administrator's configuration without a client-side rate limit, and stop. Call it once
// per package, from TestMain. Nothing survives the test binary, however it ends. configure
// functions may change the environment before it starts.
func Start(configure ...func(*envtest.Environment)) (config *rest.Config, stop func() error, err error) {
	root := Root()
	bin := cmp.Or(os.Getenv(assetsVariable), filepath.Join(root, "bin"))
	if _, err := os.Stat(filepath.Join(bin, "kube-apiserver")); err != nil {
		return nil, nil, fmt.Errorf("the test control plane is not built, run `make tools` first: %w", err)
	}
	programs, release, err := supervised(bin)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare the test control plane: %w", err)
	}
	if err := os.Setenv(assetsVariable, programs); err != nil {
		return nil, nil, err
	}
	env := &envtest.Environment{
		ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{
			filepath.Join(root, "bin", "crds", "ocm-hub"),
			filepath.Join(root, "bin", "crds", "argocd"),
			filepath.Join(root, "deploy", "base", "crd"),
		},
		// On a busy machine, a new kind may need more than the ten seconds that envtest waits by
		// default.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: patience},
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	for _, change := range configure {
		change(env)
	}
	config, err = env.Start()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start the test control plane: %w", err), env.Stop(), release())
	}
	config.QPS = -1
	return config, func() error { return errors.Join(env.Stop(), release()) }, nil
}

// Root returns the repository's root folder: the nearest folder above the working directory with a
// go.work. Source paths cannot be used, because builds are trimmed.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
	}
	return "."
}
