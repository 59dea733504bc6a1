// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is how long each part of the control plane may take.
const patience = 2 * time.Minute

// Start starts kube-apiserver and etcd from the repository's bin folder and
// installs the CRDs of the hub: Argo CD's, Open Cluster Management's and ours.
// It returns an administrator's configuration without a client-side rate limit,
// and stop. Call it once per package, from TestMain.
func Start() (config *rest.Config, stop func() error, err error) {
	root := Root()
	bin := filepath.Join(root, "bin")
	if _, err := os.Stat(filepath.Join(bin, "kube-apiserver")); err != nil {
		return nil, nil, fmt.Errorf("the test control plane is not built, run `make tools` first: %w", err)
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: bin,
		ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{
			filepath.Join(bin, "crds", "ocm-hub"),
			filepath.Join(bin, "crds", "argocd"),
			filepath.Join(root, "deploy", "base", "crd"),
		},
		// A busy machine serves a new kind later than the ten seconds that envtest
		// waits on its own.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: patience},
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	config, err = env.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("start the test control plane: %w", err)
	}
	config.QPS = -1
	return config, env.Stop, nil
}

// Root returns the repository's root folder: the nearest one above the working
// directory that holds go.work. (A source path will not do: builds are trimmed.)
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
