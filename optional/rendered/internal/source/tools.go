// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
)

// helmArgs returns the arguments of helm template. The versions of Kubernetes are the managed
// cluster's. Argo CD's are the hub's and are not used.
func (s Source) helmArgs() ([]string, error) {
	release := s.Release
	if release == "" {
		release = strings.ReplaceAll(s.Application, "_", ".")
	}
	if !parameters.IsReleaseName(release) {
		return nil, errors.New("parameter release: want a name for the Helm release, because the Application's own does not fit: at most 53 lower-case letters, digits, '-' and '.'")
	}
	namespace := s.Namespace
	if namespace == "" {
		return nil, errors.New("parameter namespace: want the namespace of the Helm release on the managed cluster")
	}
	args := []string{"template", release, ".", "--namespace", namespace}
	if !s.SkipCRDs {
		args = append(args, "--include-crds")
	}
	if s.KubeVersion != "" {
		args = append(args, "--kube-version", s.KubeVersion)
	}
	for _, v := range s.APIVersions {
		args = append(args, "--api-versions", v)
	}
	repository, dir, err := s.repository()
	if err != nil {
		return nil, err
	}
	defer func() { _ = repository.Close() }()
	for _, file := range s.ValuesFiles {
		within := path.Join(dir, file)
		if _, err := repository.Stat(within); path.IsAbs(file) || err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("values-files: %s leaves the repository", file)
		} else if err != nil {
			return nil, fmt.Errorf("values-files: %s is not in the repository", file)
		}
		args = append(args, "--values", filepath.Join(repository.Name(), within))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Values)) {
		args = append(args, "--set", key+"="+escapeCommas(s.Values[key]))
	}
	return args, nil
}

// escapeCommas escapes the commas of a value, which otherwise begin another value in Helm. It
// follows Argo CD's rules for its own parameters: a list in braces stays a list, and escaped
// characters stay escaped.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var out strings.Builder
	for i := range len(value) {
		if value[i] == ',' && (i == 0 || value[i-1] != '\\') {
			out.WriteByte('\\')
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

// run runs a tool in the source's folder and parses its output.
func (s Source) run(ctx context.Context, tool string, args ...string) ([]manifest.Manifest, error) {
	home, err := os.MkdirTemp("", "plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	command := exec.CommandContext(ctx, tool, args...)
	command.Dir, command.Env = s.Dir, environment(home)
	var stdout, stderr output
	command.Stdout, command.Stderr = &stdout, &stderr
	switch err := command.Run(); {
	case stdout.isFull || stderr.isFull:
		return nil, fmt.Errorf("%s: %w", tool, errTooLarge)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s is not in PATH: run the plugin in Argo CD's own image", tool)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", tool, complaint(stderr.text.String(), err))
	}
	return manifest.Decode("output of "+tool, stdout.text.Bytes())
}

// output is the output of a tool. Past maxBytes a write fails, which ends the tool.
type output struct {
	text   bytes.Buffer
	isFull bool
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	if o.isFull = o.isFull || o.text.Len()+len(p) > maxBytes; o.isFull {
		return 0, errTooLarge
	}
	return o.text.Write(p)
}

// environment returns the variables of a tool: of the platform's variables only those for network
// access, and none of the Application's. Kustomize can write any of its variables into a manifest.
func environment(home string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	for _, key := range []string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if value, found := os.LookupEnv(key); found {
			env = append(env, key+"="+value)
		}
	}
	return env
}

// complaint returns the error of a tool: the last line of its output that reports one, because Helm
// adds advice, else the last line.
func complaint(stderr string, otherwise error) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "Error:") {
			return line
		}
	}
	return cmp.Or(lines[len(lines)-1], otherwise.Error())
}
