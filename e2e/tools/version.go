// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// pinned returns the version, without its leading v, that the text of a go.mod requires module at.
func pinned(goMod, module string) (string, error) {
	for line := range strings.Lines(goMod) {
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) >= 2 && words[0] == module && strings.HasPrefix(words[1], "v") {
			return strings.TrimPrefix(words[1], "v"), nil
		}
	}
	return "", fmt.Errorf("go.mod requires no version of %s", module)
}

// withVersion fills the placeholders {version}, {major} and {minor} of linker flags.
func withVersion(flags, version string) (string, error) {
	words := strings.SplitN(version, ".", 3)
	if len(words) != 3 {
		return "", fmt.Errorf("version %q is not major.minor.patch", version)
	}
	return strings.NewReplacer("{version}", version, "{major}", words[0], "{minor}", words[1]).Replace(flags), nil
}
