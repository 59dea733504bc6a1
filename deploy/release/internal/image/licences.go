// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/source"
)

// LicencesPath is the folder of an image with the licences of all modules of its programs.
// Registries that certify images read this folder.
const LicencesPath = "licenses"

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// licences collects the licence texts of the modules that are linked into a container's programs.
// It reads them next to each package, and in each folder above it up to its module. It returns an
// error for a module without any text.
func licences(ctx context.Context, t *source.Tree, c source.Container, architecture string) (map[string][]byte, error) {
	const format = `{{if .Standard}}std {{.Root}} {{.Dir}}{{else}}{{with .Module}}{{.Path}} {{.Dir}}{{end}} {{.Dir}}{{end}}`
	arguments := append(make([]string, 0, 4+len(c.Programs)), "list", "-deps", "-f", format)
	for _, p := range c.Programs {
		arguments = append(arguments, p.Package)
	}
	listed, err := goTool(ctx, t, c.Module, architecture, arguments...)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	own, err := os.ReadFile(filepath.Join(t.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	out[path.Join(LicencesPath, "LICENSE")] = own
	out[path.Join(LicencesPath, "ca-certificates", "NOTICE")] = []byte(rootsNotice)
	found := map[string]bool{}
	modules := map[string]bool{}
	for _, line := range strings.Split(listed, "\n") {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("read what %s is made of: %q", c.Name, line)
		}
		module, root, folder := fields[0], fields[1], fields[2]
		if strings.HasPrefix(root, t.Root+string(filepath.Separator)) {
			continue // a module of this repository, see LICENSE
		}
		modules[module] = true
		for ; strings.HasPrefix(folder, root); folder = filepath.Dir(folder) {
			texts, err := textsIn(folder)
			if err != nil {
				return nil, err
			}
			relative, err := filepath.Rel(root, folder)
			if err != nil {
				return nil, err
			}
			for name, text := range texts {
				out[path.Join(LicencesPath, module, filepath.ToSlash(relative), name)] = text
				found[module] = true
			}
		}
	}
	for module := range modules {
		if !found[module] {
			return nil, fmt.Errorf("%s links %s, which has no text of a licence", c.Name, module)
		}
	}
	return out, nil
}

func textsIn(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		if out[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	return out, nil
}
