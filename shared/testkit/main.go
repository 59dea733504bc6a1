// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"k8s.io/client-go/rest"
)

// Main runs a package's tests against a control plane from [Start], and ends the process. It is all
// that TestMain has to call. ready gets the configuration before the first test.
func Main(m *testing.M, ready func(*rest.Config) error) {
	code := 1
	err := func() (err error) {
		config, stop, err := Start()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		if err := ready(config); err != nil {
			return err
		}
		code = m.Run()
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// SideBySide sets how many parallel tests of a package run at a time. It is for tests that mostly
// wait. TestMain calls it before it runs them. The flag -parallel takes precedence.
func SideBySide(n int) {
	_ = flag.Set("test.parallel", strconv.Itoa(n)) // every test binary has the flag
}
