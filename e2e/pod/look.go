// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	tokens  = "/var/run/secrets/kubernetes.io/serviceaccount"
	reports = "/var/run/multicluster-integrations"
)

// reportsMode is the mode of the mounted folder of reports, by container. propagation does not mount it.
var reportsMode = map[string]string{"resourcesync": "rw", "aggregation": "ro"}

// lookAt returns the state of a container's process. The error lists the differences from the manifests.
func lookAt(process, name string) (saw string, err error) {
	own, err := fields(filepath.Join(process, "status"))
	if err != nil {
		return "", err
	}
	var errs []error
	want := func(what, got, wanted string) {
		saw += fmt.Sprintf("%s %s, ", what, got)
		if got != wanted {
			errs = append(errs, fmt.Errorf("%s %s, want %s", what, got, wanted))
		}
	}
	want("user", strings.Fields(own["Uid"] + " -")[0], "65532")
	want("group", strings.Fields(own["Gid"] + " -")[0], "65532")
	want("capabilities", own["CapEff"]+"/"+own["CapBnd"], "0000000000000000/0000000000000000")
	want("no new privileges", own["NoNewPrivs"], "1")
	want("seccomp", own["Seccomp"], "2")
	mounted, err := mountModes(filepath.Join(process, "mountinfo"))
	if err != nil {
		return saw, err
	}
	want("root", mounted["/"], "ro")
	want("token", mounted[tokens], "ro")
	want("reports", mounted[reports], reportsMode[name])
	subject, err := subjectOf(filepath.Join(process, "root", tokens, "token"))
	want("account", subject, "system:serviceaccount:"+env.ProductNamespace+":"+env.Account(name))
	namespace, namespaceErr := os.ReadFile(filepath.Join(process, "root", tokens, "namespace"))
	want("namespace", string(namespace), env.ProductNamespace)
	_, caErr := os.Stat(filepath.Join(process, "root", tokens, "ca.crt"))
	return strings.TrimSuffix(saw, ", "), errors.Join(append(errs, err, namespaceErr, caErr)...)
}

// fields reads the lines "name: value" of a file.
func fields(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	values := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		values[name] = strings.TrimSpace(value)
	}
	return values, err
}

// mountModes returns ro or rw for each mount of a process, by its mount point.
func mountModes(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	modes := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if f := strings.Fields(line); len(f) > 5 { // id, parent, device, root, where, options
			modes[f[4]] = "rw"
			if slices.Contains(strings.Split(f[5], ","), "ro") {
				modes[f[4]] = "ro"
			}
		}
	}
	return modes, err
}

// subjectOf returns the subject of the token in a file. The API server verifies the token.
func subjectOf(path string) (string, error) {
	token, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("%s has %d parts, want 3", path, len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	var claims struct{ Sub string }
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return claims.Sub, nil
}
