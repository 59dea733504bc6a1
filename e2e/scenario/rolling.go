// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	_ "embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed rolling.yaml
var rolling string

// Group is a group of one cluster, with the path in git of its Application.
type Group struct{ Cluster, Path string }

// RollingSync returns an ApplicationSet that rolls a change out to one group after the other. Its
// Applications are named NAME-CLUSTER. Argo CD's controller begins with the group that is the first to have
// an outdated status on the hub. Change one path at a time to determine that group.
func RollingSync(name string, first, second Group) (*unstructured.Unstructured, error) {
	set := &unstructured.Unstructured{}
	text := strings.NewReplacer(
		"NAME", name, "FIRST_PATH", first.Path, "FIRST", first.Cluster, "SECOND_PATH", second.Path, "SECOND", second.Cluster,
	).Replace(rolling)
	if err := yaml.Unmarshal([]byte(text), &set.Object); err != nil {
		return nil, fmt.Errorf("ApplicationSet %s: %w", name, err)
	}
	return set, nil
}
