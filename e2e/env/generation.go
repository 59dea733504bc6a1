// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"path/filepath"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// generation distinguishes the newest Argo CD, Open Cluster Management and their CRDs from the oldest
// supported ones. It is the suffix of the names of built components.
type generation string

const (
	newest generation = ""
	oldest generation = "-old"
)

// part returns the path of a real component of the generation.
func (g generation) part(name string) (string, error) { return part(name + string(g)) }

// crds returns the path of CRDs that the tools copied from the generation's modules.
func (g generation) crds(elements ...string) string {
	return filepath.Join(append([]string{testkit.Root(), "bin", "crds" + string(g)}, elements...)...)
}
