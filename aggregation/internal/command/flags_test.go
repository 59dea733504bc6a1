// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		why  string
		args []string
		want string // in the error, empty for no error
	}{
		"defaults":         {"the binary starts without any flag", nil, ""},
		"no directory":     {"an empty path is a mistake in a manifest", []string{"--intermediate-dir="}, "--intermediate-dir"},
		"limit too low":    {"no room for the metadata", []string{"--report-size-limit=1000"}, "--report-size-limit 1000"},
		"limit too high":   {"etcd would refuse the report", []string{"--report-size-limit=1572864"}, "--report-size-limit 1572864"},
		"interval too low": {"a single change waits for longer than that", []string{"--report-write-interval=50ms"}, "--report-write-interval 50ms"},
		"everything wrong": {"all mistakes are named at once", []string{"--intermediate-dir=", "--report-size-limit=0"}, "--report-size-limit 0"},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.CheckFlags(t, New(), test.why, test.want, test.args...)
		})
	}
}
