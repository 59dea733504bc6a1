// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// Media types of a chart in a registry.
const (
	chartConfig  = "application/vnd.cncf.helm.config.v1+json"
	chartContent = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartRepository is the chart's repository in a registry; `helm push` would name it so.
const chartRepository = "charts/" + Project

// chart writes the Helm chart of this version, whose default values pin the images, as
// an archive and as an OCI artefact, signed.
func (r *release) chart(references []Reference) error {
	described, archive, err := r.packedChart(references)
	if err != nil {
		return err
	}
	if err := r.file(Project+"-"+r.Version+".tgz", archive); err != nil {
		return err
	}
	chart, err := r.chartArtifact(described, archive)
	if err != nil {
		return err
	}
	entries := []store.Entry{chart}
	if r.Key != nil {
		digest, err := chart.Digest()
		if err != nil {
			return err
		}
		signature, err := r.Key.Image(strings.TrimPrefix(r.Registry+"/"+chartRepository, "/"), digest)
		if err != nil {
			return err
		}
		entries = append(entries, signature)
	}
	return store.Write(filepath.Join(r.Out, "images", filepath.FromSlash(chartRepository)), entries...)
}

// packedChart returns the chart's description and its archive.
func (r *release) packedChart(references []Reference) (described, archive []byte, err error) {
	folder, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a copy
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(r.tree.Root, "deploy", "chart"))); err != nil {
		return nil, nil, fmt.Errorf("copy the chart: %w", err)
	}
	described, err = edit(filepath.Join(folder, "Chart.yaml"), map[string]string{"version": r.Version, "appVersion": r.Version})
	if err != nil {
		return nil, nil, err
	}
	values := map[string]string{}
	if r.Registry != "" {
		values["image.registry"] = r.Registry
	}
	for _, reference := range references {
		values[reference.Container+".tag"] = reference.Tag
		values[reference.Container+".digest"] = reference.Digest.String()
	}
	if _, err := edit(filepath.Join(folder, "values.yaml"), values); err != nil {
		return nil, nil, err
	}
	if archive, err = pack(folder, Project, r.tree.Time); err != nil {
		return nil, nil, fmt.Errorf("pack the chart: %w", err)
	}
	return described, archive, nil
}

func (r *release) chartArtifact(described, archive []byte) (store.Entry, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(described, &fields); err != nil {
		return store.Entry{}, err
	}
	config, err := json.Marshal(fields)
	if err != nil {
		return store.Entry{}, err
	}
	img, err := store.Artifact{
		Config: store.Blob{Content: config, Type: chartConfig},
		Layers: []store.Blob{{Content: archive, Type: chartContent}},
		Annotations: map[string]string{
			"org.opencontainers.image.title":   Project,
			"org.opencontainers.image.version": r.Version,
			"org.opencontainers.image.created": r.tree.Time.Format("2006-01-02T15:04:05Z07:00"),
		},
	}.Image()
	return store.Entry{Image: img, Tag: r.Version}, err
}

var keyLine = regexp.MustCompile(`^( *)([A-Za-z]+):( *)(.*)$`)

// edit sets values of a YAML file of nested mappings, by dotted path, line by line, so
// that its comments stay. Every path must be there once.
func edit(path string, values map[string]string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for key := range values {
		left[key] = true
	}
	var section string
	lines := strings.Split(string(content), "\n")
	for i, line := range lines {
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		key := m[2]
		switch m[1] {
		case "":
			section = key
		case "  ":
			key = section + "." + key
		default:
			continue
		}
		if value, ok := values[key]; ok && left[key] {
			lines[i] = m[1] + m[2] + ": " + fmt.Sprintf("%q", value)
			delete(left, key)
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("%s has no line for %v", path, left)
	}
	out := []byte(strings.Join(lines, "\n"))
	return out, os.WriteFile(path, out, 0o644)
}
