// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// edit is one change to the source of a pinned module: in one file, a text that occurs exactly once gives way to another.
type edit struct {
	module, file, old, new string
}

// argocdLoopback is the one change that is made to a real part. The metrics server of Argo CD's application controller listens on all
// addresses and has no flag for it; what runs here for tests may be reached from this machine only. Everything else of the
// part stays as its makers wrote it. Without this change each fleet would need a network namespace of its own.
func argocdLoopback(module string) *edit {
	return &edit{
		module: module,
		file:   "controller/appcontroller.go",
		old:    `metricsAddr := fmt.Sprintf("0.0.0.0:%d", metricsPort)`,
		new:    `metricsAddr := fmt.Sprintf("127.0.0.1:%d", metricsPort)`,
	}
}

// apply returns the source with the change made. It is an error if the old text is not there exactly once: the pinned version
// has changed, and somebody has to look again.
func (e edit) apply(source string) (string, error) {
	if n := strings.Count(source, e.old); n != 1 {
		return "", fmt.Errorf("%s of %s holds %q %d times, not once: look at the pinned version and mend the edit",
			e.file, e.module, e.old, n)
	}
	return strings.Replace(source, e.old, e.new, 1), nil
}
