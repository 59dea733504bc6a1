// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
)

// downloadAhead downloads what parts are made of, in the order of their builds and beside them, until it is stopped: a
// compiler that waits for the network leaves its core idle. An error is not told: the build that needs the module meets it, too.
func (b *builder) downloadAhead(ctx context.Context, parts []part) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	beside := &builder{root: b.root, bin: b.bin} // what it takes is no part's processor time
	go func() {
		defer close(done)
		for _, p := range parts {
			if p.pkg == "" || b.given(p) != "" {
				continue
			}
			list := slices.Concat([]string{"list", "-deps", "-f={{.ImportPath}}"}, p.flags(), []string{p.pkg})
			_ = beside.goCommand(ctx, filepath.Join(b.root, p.module), io.Discard, &goOutput{}, list...) // see above
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
