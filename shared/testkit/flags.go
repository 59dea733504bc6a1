// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"flag"
	"io"
	"strings"
	"testing"
)

// Flags are the flags of a binary.
type Flags interface {
	BindFlags(fs *flag.FlagSet)
	Validate() error
}

// CheckFlags parses args and validates the flags. The test fails unless the error contains want. If
// want is empty, an error fails the test. The failure begins with why.
func CheckFlags(t testing.TB, flags Flags, why, want string, args ...string) {
	t.Helper()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	flags.BindFlags(fs)
	err := fs.Parse(args)
	if err == nil {
		err = flags.Validate()
	}
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %q: error %v, want %q", why, args, err, want)
	}
}
