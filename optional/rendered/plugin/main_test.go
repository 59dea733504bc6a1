// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	plugin string // the executable, built as for a release
	server *rest.Config
)

func TestMain(m *testing.M) {
	code, err := withPlugin(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withPlugin(tests func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "plugin-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plugin = filepath.Join(dir, "plugin")
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", plugin, ".").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	config, stop, err := testkit.Start()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	server = config
	return tests(), nil
}

// application has Argo CD's settings for a plugin. Its environment also has the tenant's variables, as Argo
// CD passes them, and they must have no effect.
type application struct {
	path, name, cluster, parameters string
	args                            []string
}

func (a application) env() []string {
	name, cluster := a.name, a.cluster
	if name == "" {
		name = "guestbook"
	}
	if cluster == "" {
		cluster = "cluster1"
	}
	return []string{
		"ARGOCD_APP_NAME=" + name, "ARGOCD_APP_NAMESPACE=" + cluster, "ARGOCD_APP_SOURCE_PATH=" + a.path, "ARGOCD_APP_PARAMETERS=" + a.parameters,
		"ARGOCD_APP_REVISION=0123456789abcdef0123456789abcdef01234567", "KUBE_VERSION=1.20",
		"ARGOCD_ENV_ARGOCD_APP_NAMESPACE=other", "ARGOCD_ENV_TARGET_CLUSTER=other", "PARAM_NAMESPACE=other",
		"PATH=" + filepath.Join(testkit.Root(), "bin") + ":" + os.Getenv("PATH"),
	}
}

// generate runs the executable for a source of a repository.
func (a application) generate(t *testing.T, repository string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.CommandContext(t.Context(), plugin, append([]string{"generate"}, a.args...)...)
	command.Dir, command.Env = filepath.Join(repository, a.path), a.env()
	command.Stdout, command.Stderr = &out, &errs
	err = command.Run()
	return out.String(), errs.String(), err
}
