// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockRetry is how often a builder that has to wait asks for the lock again.
const lockRetry = 200 * time.Millisecond

// lock takes the lock on path, which keeps two builders in one checkout from writing the same files, and returns what gives it
// back. The kernel does so as well when the process ends, however it ends. If another holds it, waiting is called once, and
// lock returns when the other is done or ctx ends.
func lock(ctx context.Context, path string, waiting func()) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	for again := false; ; again = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // nothing was written to it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if !again {
			waiting()
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}
