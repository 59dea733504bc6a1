// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names are names of namespaces. They are the value of a flag that can be repeated.
type Names []string

// Flag returns n as the value of a flag. The first value on the command line replaces the default.
func (n *Names) Flag() flag.Value { return &namesFlag{names: n} }

// Validate returns an error that lists the values that are not names of namespaces.
func (n *Names) Validate(flag string) error {
	var errs []error
	for _, name := range *n {
		if len(validation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, fmt.Errorf("--%s %q: want the name of a namespace", flag, name))
		}
	}
	return errors.Join(errs...)
}

type namesFlag struct {
	names *Names
	set   bool
}

// String implements [flag.Value].
func (f *namesFlag) String() string {
	if f.names == nil {
		return "" // package flag calls it on a zero value
	}
	return strings.Join(*f.names, ",")
}

// Set implements [flag.Value].
func (f *namesFlag) Set(value string) error {
	if !f.set {
		*f.names, f.set = nil, true
	}
	for name := range strings.SplitSeq(value, ",") {
		if !slices.Contains(*f.names, name) {
			*f.names = append(*f.names, name)
		}
	}
	return nil
}
