// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"strings"
)

// StartProduct starts one binary of the product with extra arguments, for a fleet
// whose [Options.Product] leaves it out: its identity and rights are the ones that
// it would have had from the start. It returns when the binary is ready.
func (f *Fleet) StartProduct(ctx context.Context, name string, arguments ...string) (*Process, error) {
	identity, err := f.productIdentity(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := f.startReplica(ctx, name, identity, 0, arguments...); err != nil {
		return nil, err
	}
	return f.Process(name + "-0")
}

// FreePort returns a port that is free on this machine, for the caller's own use.
func (f *Fleet) FreePort() (int, error) { return f.port() }

// Flag returns the value of a command-line argument "--name=value" of the process,
// the last one when there are several; "" when there is none.
func (p *Process) Flag(name string) string {
	value := ""
	for _, argument := range p.spec.Args {
		if v, ok := strings.CutPrefix(argument, "--"+name+"="); ok {
			value = v
		}
	}
	return value
}
